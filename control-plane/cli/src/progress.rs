//! A line on stderr that says what is waited for, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::api::variable;

/// What is done sooner needs no line.
const PATIENCE: Duration = Duration::from_millis(700);
const STEP: Duration = Duration::from_secs(1);

/// Waits for `work`, and after a moment says so, with the seconds.
pub(crate) async fn watch<T>(what: &str, work: impl Future<Output = T>) -> T {
    let is_dumb = variable("TERM").is_some_and(|name| name == "dumb");
    if !std::io::stderr().is_terminal() || is_dumb {
        return work.await;
    }
    let start = Instant::now();
    let mut work = std::pin::pin!(work);
    let mut step = PATIENCE;
    let mut is_shown = false;
    loop {
        match tokio::time::timeout(step, &mut work).await {
            Ok(done) => {
                if is_shown {
                    draw("");
                }
                return done;
            }
            Err(_) => {
                draw(&format!("{what} … {} s", start.elapsed().as_secs()));
                is_shown = true;
                step = STEP;
            }
        }
    }
}

/// Replaces the line the cursor is on.
fn draw(line: &str) {
    let mut err = std::io::stderr();
    let _ = write!(err, "\r\u{1b}[K{line}").and_then(|()| err.flush());
}
