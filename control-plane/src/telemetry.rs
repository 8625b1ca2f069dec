//! Logs: for a person on a terminal, as JSON lines elsewhere; never arguments or secrets.

use std::error::Error;
use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging to stderr. `RUST_LOG` chooses what is logged, else `info`.
/// A second start changes nothing.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let base = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // An error means that a subscriber is there already, as in tests.
    let _ = if std::io::stderr().is_terminal() {
        base.try_init()
    } else {
        base.json().flatten_event(true).try_init()
    };
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string);
        // A message that was put together may quote what was worked on; a literal can't.
        let message = panic.payload().downcast_ref::<&str>().copied();
        tracing::error!(at, message, "a task panicked");
    }));
}

/// An error and its causes on one line. Our outer errors never print their cause
/// themselves; some of others do, and those are not repeated.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn causes_follow_their_errors() {
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(super::chain(&error), "outer: inner");
        let twice = Outer(std::io::Error::other(std::io::Error::other("inner")));
        assert_eq!(super::chain(&twice), "outer: inner");
    }
}
