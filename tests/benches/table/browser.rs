//! Browser calls: our helper and the whole path, against other people's clients and against bare DevTools.

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tests::site::Site;
use tests::{Run, Stack};

use crate::timing::{KeptClient, Row, median_ms};

#[path = "browser/agent_browser.rs"]
mod agent_browser;
#[path = "browser/bare.rs"]
pub mod bare;
#[path = "browser/devtools.rs"]
mod devtools;
#[path = "browser/fresh.rs"]
mod fresh;
#[path = "browser/mcp.rs"]
mod mcp;
#[path = "browser/sizes.rs"]
mod sizes;
#[path = "browser/verbs.rs"]
mod verbs;

use agent_browser::AgentBrowser;
use mcp::Mcp;
use verbs::{Subject, Verb};

const COUNT: usize = 30;
/// Between two calls, so that none pays for what the one before left to do.
const REST: Duration = Duration::from_millis(100);

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// `guilds-browser`, a fresh process from its start to its end.
    Helper,
    /// The same through control plane, machine agent and runner.
    Path,
    /// Bare DevTools commands from a fresh process.
    Bare,
    /// playwright-core in a fresh Node process.
    Node,
    Mcp,
    AgentBrowser,
}

impl Who {
    fn name(self, verb: Verb) -> &'static str {
        match self {
            Self::Helper => "the helper alone",
            Self::Path => "the whole path",
            Self::Bare => bare::consists_of(verb),
            Self::Node => "playwright-core connectOverCDP, fresh Node",
            Self::Mcp => "@playwright/mcp, kept alive",
            Self::AgentBrowser => "agent-browser, its daemon kept alive",
        }
    }
}

/// All that the contenders need; every one works on the same page of the same Chrome.
struct Field<'a> {
    stack: &'a Stack,
    run: Run,
    client: KeptClient,
    subject: Subject,
    node: PathBuf,
    mcp: Option<Mcp>,
    agent_browser: Option<AgentBrowser>,
}

/// Every row on the browser.
pub async fn calls(stack: &Stack) -> Result<Vec<Row>> {
    let site = Site::serve(&[("/", &verbs::page()?)]).await?;
    let mut field = Field::prepare(stack, &site).await?;
    let mut rows = Vec::new();
    for verb in Verb::ALL {
        let whos = [Who::Helper, Who::Path, Who::Bare, Who::Node];
        let mut times = field.rounds(verb, &whos).await?;
        let [helper, path, bare, node] = &mut times[..] else {
            continue;
        };
        let (bare, node) = (median_ms(bare), median_ms(node));
        rows.push(row(verb, "helper", helper, Who::Node, node));
        rows.push(row(verb, "whole path", path, Who::Node, node));
        rows.push(row(verb, "helper", helper, Who::Bare, bare));
    }
    // What is kept alive listens to the page, which costs everyone who works on it: so
    // these come only now, one after the other, with the helper measured again beside each.
    for who in [Who::Mcp, Who::AgentBrowser] {
        match field.beside(who).await {
            Ok(more) => rows.extend(more),
            Err(why) => rows.push(Row::missing(
                format!("not available: {}", who.name(Verb::Navigate)),
                &format!("{why:#}"),
            )),
        }
    }
    rows.extend(field.sizes()?);
    Ok(rows)
}

fn row(verb: Verb, what: &str, times: &mut [Duration], who: Who, other: f64) -> Row {
    Row {
        what: format!("browser_{}, {what}", verb.name()),
        ours: Some(median_ms(times)),
        other: Some(other),
        unit: "ms",
        count: COUNT,
        against: who.name(verb).to_owned(),
    }
}

impl<'a> Field<'a> {
    async fn prepare(stack: &'a Stack, site: &Site) -> Result<Self> {
        let run = stack
            .backend
            .start(&json!({ "agent": stack.ada.id, "kind": "direct", "max_tool_calls": 1000 }))
            .await?;
        let picture = stack.directory.path().join("picture.jpg");
        let subject = Subject {
            url: site.url("/"),
            picture: picture
                .to_str()
                .context("a path that is not UTF-8")?
                .to_owned(),
        };
        let mut client = KeptClient::connect(stack).await?;
        // The first call of an agent starts its Chrome.
        client
            .call(&run, "browser_navigate", &subject.arguments(Verb::Navigate))
            .await?;
        let node = repository(stack).join("clients/node_modules/.bin/node");
        ensure!(
            node.exists(),
            "the test clients are missing: scripts/set-up.sh bench installs them"
        );
        Ok(Self {
            stack,
            run,
            client,
            subject,
            node,
            mcp: None,
            agent_browser: None,
        })
    }

    /// Each takes its turn in each round, another one first each time; the first round
    /// warms up. Times in the order of `whos`.
    async fn rounds(&mut self, verb: Verb, whos: &[Who]) -> Result<Vec<Vec<Duration>>> {
        let mut times = vec![Vec::with_capacity(COUNT); whos.len()];
        for round in 0..=COUNT {
            for turn in 0..whos.len() {
                let at = (round + turn) % whos.len();
                tokio::time::sleep(REST).await;
                let took = self.one(whos[at], verb).await?;
                if round > 0 {
                    times[at].push(took);
                }
            }
        }
        Ok(times)
    }

    async fn one(&mut self, who: Who, verb: Verb) -> Result<Duration> {
        let port = port(self.stack);
        match who {
            Who::Helper => Ok(fresh::by_helper(self.stack, verb, &self.subject)?.0),
            Who::Path => {
                let tool = format!("browser_{}", verb.name());
                let arguments = self.subject.arguments(verb);
                self.client.call(&self.run, &tool, &arguments).await
            }
            Who::Bare => bare::call(port, verb, &self.subject),
            Who::Node => fresh::by_node(&self.node, port, verb, &self.subject),
            Who::Mcp => {
                let mcp = self.mcp.as_mut().context("it was not started")?;
                if verb == Verb::Navigate {
                    // An answer means that it heard of the navigation before.
                    mcp.call(Verb::Eval, &self.subject).await?;
                }
                Ok(mcp.call(verb, &self.subject).await?.0)
            }
            Who::AgentBrowser => {
                let peer = self.agent_browser.as_ref().context("it was not started")?;
                peer.call(verb, &self.subject)
            }
        }
    }

    /// The helper beside a client that is kept alive, which ends with the last call.
    async fn beside(&mut self, who: Who) -> Result<Vec<Row>> {
        let packages = peers(self.stack);
        let port = port(self.stack);
        let folder = self.stack.directory.path().join(format!("{who:?}"));
        std::fs::create_dir_all(&folder)?;
        let mut rows = Vec::new();
        // The one before may have ended with an error.
        (self.mcp, self.agent_browser) = (None, None);
        if who == Who::Mcp {
            self.mcp = Some(Mcp::start(&self.node, &packages, port, &folder).await?);
        } else {
            self.agent_browser = Some(AgentBrowser::start(&packages, port, &folder)?);
        }
        for verb in Verb::ALL {
            let mut times = self.rounds(verb, &[Who::Helper, who]).await?;
            let [helper, other] = &mut times[..] else {
                continue;
            };
            let other = median_ms(other);
            rows.push(row(verb, "helper", helper, who, other));
        }
        if let Some(mcp) = &mut self.mcp {
            rows.push(sizes::tree(self.stack, &self.subject, mcp).await?);
        }
        let peak = match (&self.mcp, &self.agent_browser) {
            (Some(mcp), _) => mcp.peak_kib()?,
            (None, Some(peer)) => peer.peak_kib()?,
            (None, None) => return Ok(rows),
        };
        rows.push(sizes::memory(
            self.stack,
            &self.subject,
            peak,
            who.name(Verb::Snapshot),
        )?);
        (self.mcp, self.agent_browser) = (None, None);
        Ok(rows)
    }
}

fn repository(stack: &Stack) -> PathBuf {
    stack.shared.repository.join("tests")
}

/// Packages that only the benches need.
fn peers(stack: &Stack) -> PathBuf {
    repository(stack).join("benches/peers")
}

fn port(stack: &Stack) -> u16 {
    9300 + u16::from(stack.ada.slot())
}

/// Runs a program and says how long it took, from before its start to after its end.
fn timed(run: impl FnOnce() -> Result<Output>) -> Result<(Output, Duration)> {
    let begun = Instant::now();
    let output = run()?;
    Ok((output, begun.elapsed()))
}
