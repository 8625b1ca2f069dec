//! Counters of what the control plane did, as Prometheus text. Labels are bounded: a tool is a native name, `script` or `unknown`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper bounds of the duration buckets in milliseconds.
const BUCKETS_MS: [u64; 11] = [2, 5, 10, 25, 50, 100, 500, 1_000, 5_000, 30_000, 120_000];

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It has a result.
    Ok,
    /// Its result is an `ERROR:`.
    Error,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }
}

/// Every counter of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<(&'static str, Outcome), u64>,
    durations: BTreeMap<&'static str, Histogram>,
    requests: BTreeMap<(&'static str, u16), u64>,
    mcp: BTreeMap<(&'static str, Outcome), u64>,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS_MS.len()],
    count: u64,
    sum_ms: u64,
}

impl Metrics {
    /// Counts a call that was stored.
    pub fn call(&self, tool: &'static str, outcome: Outcome, duration: Duration) {
        let mut state = self.lock();
        *state.calls.entry((tool, outcome)).or_default() += 1;
        let histogram = state.durations.entry(tool).or_default();
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        histogram.count += 1;
        histogram.sum_ms = histogram.sum_ms.saturating_add(ms);
        for (bucket, bound) in histogram.buckets.iter_mut().zip(BUCKETS_MS) {
            *bucket += u64::from(ms <= bound);
        }
    }

    /// Counts an answered HTTP request.
    pub fn request(&self, method: &'static str, status: u16) {
        *self.lock().requests.entry((method, status)).or_default() += 1;
    }

    /// Counts a message of the MCP face.
    pub fn mcp(&self, method: &'static str, fine: bool) {
        let outcome = if fine { Outcome::Ok } else { Outcome::Error };
        *self.lock().mcp.entry((method, outcome)).or_default() += 1;
    }

    /// The Prometheus text, with the number of open runs where it is known.
    #[must_use]
    pub fn text(&self, open_runs: Option<i64>) -> String {
        let state = self.lock();
        let mut out = String::new();
        write(&mut out, &state, open_runs);
        out
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A counter is whole after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(out: &mut String, state: &State, open_runs: Option<i64>) {
    out.push_str("# HELP guilds_calls_total Tool calls stored, by tool and outcome.\n");
    out.push_str("# TYPE guilds_calls_total counter\n");
    for ((tool, outcome), count) in &state.calls {
        let outcome = outcome.as_str();
        line(
            out,
            format_args!("guilds_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}"),
        );
    }
    out.push_str("# HELP guilds_call_duration_seconds From claim to stored message.\n");
    out.push_str("# TYPE guilds_call_duration_seconds histogram\n");
    for (tool, histogram) in &state.durations {
        for (bucket, bound) in histogram.buckets.iter().zip(BUCKETS_MS) {
            let bound = seconds(bound);
            line(
                out,
                format_args!(
                    "guilds_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {bucket}"
                ),
            );
        }
        let count = histogram.count;
        line(
            out,
            format_args!(
                "guilds_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {count}"
            ),
        );
        let sum = seconds(histogram.sum_ms);
        line(
            out,
            format_args!("guilds_call_duration_seconds_sum{{tool=\"{tool}\"}} {sum}"),
        );
        line(
            out,
            format_args!("guilds_call_duration_seconds_count{{tool=\"{tool}\"}} {count}"),
        );
    }
    out.push_str(
        "# HELP guilds_http_requests_total HTTP requests answered, by method and status.\n",
    );
    out.push_str("# TYPE guilds_http_requests_total counter\n");
    for ((method, status), count) in &state.requests {
        line(
            out,
            format_args!(
                "guilds_http_requests_total{{method=\"{method}\",status=\"{status}\"}} {count}"
            ),
        );
    }
    out.push_str("# HELP guilds_mcp_messages_total Messages of MCP clients, by method.\n");
    out.push_str("# TYPE guilds_mcp_messages_total counter\n");
    for ((method, outcome), count) in &state.mcp {
        let outcome = outcome.as_str();
        line(
            out,
            format_args!(
                "guilds_mcp_messages_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}"
            ),
        );
    }
    if let Some(open) = open_runs {
        out.push_str("# HELP guilds_open_runs Runs that are open, in the whole database.\n");
        out.push_str("# TYPE guilds_open_runs gauge\n");
        line(out, format_args!("guilds_open_runs {open}"));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String can't fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_durations_are_written_as_prometheus_text() {
        let metrics = Metrics::default();
        metrics.call("shell", Outcome::Ok, Duration::from_millis(7));
        metrics.call("shell", Outcome::Error, Duration::from_millis(1_500));
        metrics.request("POST", 200);
        metrics.mcp("tools/call", true);
        let text = metrics.text(Some(3));
        for expected in [
            "guilds_calls_total{tool=\"shell\",outcome=\"ok\"} 1\n",
            "guilds_calls_total{tool=\"shell\",outcome=\"error\"} 1\n",
            "guilds_call_duration_seconds_bucket{tool=\"shell\",le=\"0.005\"} 0\n",
            "guilds_call_duration_seconds_bucket{tool=\"shell\",le=\"0.01\"} 1\n",
            "guilds_call_duration_seconds_bucket{tool=\"shell\",le=\"+Inf\"} 2\n",
            "guilds_call_duration_seconds_sum{tool=\"shell\"} 1.507\n",
            "guilds_http_requests_total{method=\"POST\",status=\"200\"} 1\n",
            "guilds_mcp_messages_total{method=\"tools/call\",outcome=\"ok\"} 1\n",
            "guilds_open_runs 3\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }
}
