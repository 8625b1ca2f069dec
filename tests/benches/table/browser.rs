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

/// A client of others, or the sentence on why it can't be measured here.
type Peer<T> = Result<T, String>;

/// All that the contenders need; every one works on the same page of the same Chrome.
struct Field<'a> {
    stack: &'a Stack,
    run: Run,
    client: KeptClient,
    subject: Subject,
    node: PathBuf,
    mcp: Peer<Mcp>,
    agent_browser: Peer<AgentBrowser>,
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
    // What is kept alive listens to the page, which costs everyone who works on it:
    // so these come only now, and the helper is measured again beside them.
    field.start_peers().await?;
    for verb in Verb::ALL {
        let mut whos = vec![Who::Helper];
        whos.extend(field.mcp.is_ok().then_some(Who::Mcp));
        whos.extend(field.agent_browser.is_ok().then_some(Who::AgentBrowser));
        let mut times = field.rounds(verb, &whos).await?;
        let mut helper = times.remove(0);
        for (who, times) in whos[1..].iter().zip(&mut times) {
            rows.push(row(verb, "helper", &mut helper, *who, median_ms(times)));
        }
    }
    rows.extend(field.sizes().await?);
    rows.extend(field.missing());
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
        let unstarted = "it was not started";
        Ok(Self {
            stack,
            run,
            client,
            subject,
            node,
            mcp: Err(unstarted.to_owned()),
            agent_browser: Err(unstarted.to_owned()),
        })
    }

    /// Each takes its turn in each round, another one first each time; the first round
    /// warms up. Times in the order of `whos`.
    async fn rounds(&mut self, verb: Verb, whos: &[Who]) -> Result<Vec<Vec<Duration>>> {
        let mut times = vec![Vec::with_capacity(COUNT); whos.len()];
        for round in 0..=COUNT {
            for turn in 0..whos.len() {
                let at = (round + turn) % whos.len();
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
            Who::Mcp => Ok(present(&mut self.mcp)?.call(verb, &self.subject).await?.0),
            Who::AgentBrowser => present(&mut self.agent_browser)?.call(verb, &self.subject),
        }
    }

    /// A peer that can't be started here is told in the table, and costs nothing else.
    async fn start_peers(&mut self) -> Result<()> {
        let packages = peers(self.stack);
        let port = port(self.stack);
        let folder = |name: &str| -> Result<PathBuf> {
            let folder = self.stack.directory.path().join(name);
            std::fs::create_dir_all(&folder)?;
            Ok(folder)
        };
        let (first, second) = (folder("mcp")?, folder("agent-browser")?);
        self.mcp = match Mcp::start(&self.node, &packages, port, &first).await {
            Ok(mut mcp) => match mcp.call(Verb::Navigate, &self.subject).await {
                Ok(_) => Ok(mcp),
                Err(error) => Err(format!("{error:#}")),
            },
            Err(error) => Err(format!("{error:#}")),
        };
        self.agent_browser = AgentBrowser::start(&packages, port, &second)
            .and_then(|peer| peer.call(Verb::Navigate, &self.subject).map(|_| peer))
            .map_err(|error| format!("{error:#}"));
        Ok(())
    }

    /// What could not be measured, and why.
    fn missing(&self) -> Vec<Row> {
        let mcp = self.mcp.as_ref().err().map(|why| (Who::Mcp, why));
        let agent_browser = self.agent_browser.as_ref().err();
        mcp.into_iter()
            .chain(agent_browser.map(|why| (Who::AgentBrowser, why)))
            .map(|(who, why)| {
                Row::missing(format!("not available: {}", who.name(Verb::Navigate)), why)
            })
            .collect()
    }
}

fn present<T>(peer: &mut Peer<T>) -> Result<&mut T> {
    peer.as_mut().map_err(|why| anyhow::anyhow!("{why}"))
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
