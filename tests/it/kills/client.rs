//! A chat backend that asks again until it is answered, at whichever replica.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use tests::numbers::Numbers;
use tests::{Api, CallResult, Run};
use tokio::sync::watch;

/// Longer than two leases, and than the machine's silence after which an outcome is unknown.
const ANSWERED_WITHIN: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(30);

/// How a client runs something on the machine.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sandbox {
    Shell,
    Script,
}

/// A batch with its answer.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) run: String,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    /// What the machine was to write down, when it was asked for something.
    pub(super) mark: Option<String>,
    pub(super) results: Vec<CallResult>,
}

/// One client with a run of its own.
pub(super) struct Client {
    number: usize,
    run: String,
    sandbox: Sandbox,
    replicas: Vec<Api>,
    numbers: Numbers,
}

/// A script that writes down what it is given, with some time before and after.
pub(super) fn script() -> Value {
    json!({
        "name": "mark",
        "description": "Writes a line.",
        "source": "import json, os, sys, time\n\
                   mark = json.load(sys.stdin)['mark']\n\
                   time.sleep(0.05)\n\
                   with open(os.path.expanduser('~/marks'), 'a') as marks:\n    marks.write(mark + '\\n')\n\
                   time.sleep(0.05)\n",
    })
}

impl Client {
    pub(super) fn new(
        number: usize,
        run: &Run,
        sandbox: Sandbox,
        addresses: &[String],
        seed: u64,
    ) -> Self {
        let token = addresses.iter().map(|address| run.api().at(address));
        Self {
            number,
            run: run.id.clone(),
            sandbox,
            replicas: token.collect(),
            numbers: Numbers::of(seed),
        }
    }

    /// Makes batches until it is told to stop or its budget ends.
    pub(super) async fn work(mut self, stop: watch::Receiver<bool>) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        while !*stop.borrow() && pieces.len() < 240 {
            pieces.push(self.piece(pieces.len()).await?);
        }
        Ok(pieces)
    }

    async fn piece(&mut self, number: usize) -> Result<Piece> {
        let mark = format!("c{}-{number}", self.number);
        let key = format!("{mark}.md");
        let mut calls = vec![
            json!({ "id": format!("{mark}-report"), "name": "report_issue",
                "arguments": { "kind": "other", "summary": "a daemon was killed", "detail": mark } }),
            json!({ "id": format!("{mark}-write"), "name": "note_write",
                "arguments": { "level": "guild", "key": key, "content": mark } }),
            json!({ "id": format!("{mark}-read"), "name": "note_get",
                "arguments": { "path": format!("guild/core/{key}") } }),
        ];
        let on_machine = self.numbers.below(2) == 0;
        if on_machine {
            let at = usize::try_from(self.numbers.below(4))?;
            calls.insert(at, self.sandboxed(&mark));
        }
        let body = json!({ "calls": calls });
        let began = Instant::now();
        let results = self.answered(&body).await?;
        let ended = Instant::now();
        ensure!(results.len() == calls.len(), "{results:?}");
        for (call, result) in calls.iter().zip(&results) {
            ensure!(call["id"] == result.id.as_str(), "{result:?}");
        }
        Ok(Piece {
            run: self.run.clone(),
            began,
            ended,
            mark: on_machine.then_some(mark),
            results,
        })
    }

    fn sandboxed(&self, mark: &str) -> Value {
        let (name, arguments) = match self.sandbox {
            Sandbox::Shell => (
                "shell",
                json!({ "command": format!("sleep 0.05; echo {mark} >> ~/marks; sleep 0.05") }),
            ),
            Sandbox::Script => (
                "script_run",
                json!({ "name": "mark", "arguments": { "mark": mark } }),
            ),
        };
        json!({ "id": format!("{mark}-run"), "name": name, "arguments": arguments })
    }

    /// The answer to a batch, sometimes asked for twice at once or once more; it is the same
    /// each time.
    async fn answered(&mut self, body: &Value) -> Result<Vec<CallResult>> {
        let (first, way) = (self.numbers.below(2), self.numbers.below(4));
        let path = format!("/v1/runs/{}/calls", self.run);
        let ask = |replica| ask_until_answered(&self.replicas, &path, body, replica);
        if way == 0 {
            let (one, two) = tokio::try_join!(ask(first), ask(first + 1))?;
            ensure!(one == two, "two answers: {one:?} and {two:?}");
            return Ok(one);
        }
        let one = ask(first).await?;
        if way == 1 {
            let again = ask(first + 1).await?;
            ensure!(one == again, "two answers: {one:?} and {again:?}");
        }
        Ok(one)
    }
}

async fn ask_until_answered(
    replicas: &[Api],
    path: &str,
    body: &Value,
    first: u64,
) -> Result<Vec<CallResult>> {
    let deadline = Instant::now() + ANSWERED_WITHIN;
    let mut last = String::new();
    let mut replica = usize::try_from(first)?;
    while Instant::now() < deadline {
        match replicas[replica % replicas.len()].post(path, body).await {
            Ok(answer) if answer.status == 200 => return tests::api::results(&answer.json()?),
            Ok(answer) if answer.status == 503 => last = answer.text,
            Ok(answer) => bail!("{}: {}", answer.status, answer.text),
            // Its replica is dead, or died.
            Err(error) => last = format!("{error:#}"),
        }
        replica += 1;
        tokio::time::sleep(PAUSE).await;
    }
    bail!("{body} is not answered: {last}")
}
