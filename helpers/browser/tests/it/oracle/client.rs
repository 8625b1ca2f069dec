//! playwright-core in one Node process, asked line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::spawn;

pub struct Oracle {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    pub fn connect(port: u16) -> Self {
        let mut child = spawn::oracle(port);
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            requests,
            answers,
        }
    }

    /// What each selector finds in the tab that shows `url`, and how strict the first `strict` are.
    pub fn ask(&mut self, url: &str, selectors: &[String], strict: usize) -> Vec<Value> {
        let request = json!({"url": url, "selectors": selectors, "strict": strict});
        writeln!(self.requests.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "tests/clients/oracle.mjs ended");
        let answers: Vec<Value> = serde_json::from_str(&line).unwrap();
        assert_eq!(answers.len(), selectors.len());
        answers
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It ends with its stdin.
        self.requests = None;
        let _ = self.child.wait();
    }
}
