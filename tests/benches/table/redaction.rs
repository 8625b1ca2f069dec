//! Redact and cap with a thousand secrets, against a search for their raw values alone.

use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use anyhow::{Result, ensure};
use secrecy::SecretString;
use tests::texts::{self, Numbers};
use tool_result::{Filter, Raw, Redactor, Secret};

use crate::timing::{Row, median_ms};

/// Secrets of the organisation.
const SECRETS: usize = 1_000;
/// The largest cap that may be set, so that the text is redacted and kept whole.
const CAP_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that are looked at in each measurement, however small the text.
const MEASURED_BYTES: usize = 64 * 1024 * 1024;

/// Throughput on four kinds of text in two sizes, the building of the redactor and its size.
pub fn rows() -> Result<Vec<Row>> {
    let values = texts::secrets(SECRETS);
    let searcher = AhoCorasick::new(&values)?;
    let secrets = || -> Vec<Secret> {
        let named = values.iter().enumerate();
        named
            .map(|(number, value)| Secret {
                name: format!("SECRET_{number}"),
                value: SecretString::from(value.as_str()),
            })
            .collect()
    };
    let mut built = Vec::new();
    let mut raw_built = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let redactor = Redactor::new(1, secrets());
        built.push(begun.elapsed());
        ensure!(redactor.version() == 1, "{redactor:?}");
        let begun = Instant::now();
        ensure!(AhoCorasick::new(&values)?.patterns_len() == SECRETS);
        raw_built.push(begun.elapsed());
    }
    let redactor = Redactor::new(1, secrets());
    let mut rows = vec![
        Row {
            what: format!("redactor of {SECRETS} secrets, built"),
            ours: Some(median_ms(&mut built)),
            other: Some(median_ms(&mut raw_built)),
            unit: "ms",
            count: 5,
            against: "an automaton of the raw values".to_owned(),
        },
        Row {
            what: format!("redactor of {SECRETS} secrets, memory"),
            ours: Some(kib(redactor.bytes())),
            other: Some(kib(searcher.memory_usage())),
            unit: "KiB",
            count: 1,
            against: "an automaton of the raw values".to_owned(),
        },
    ];
    for (kind, line) in texts::KINDS {
        for (size, bytes) in [("64 KiB", 64 * 1024), ("8 MiB", 8 * 1024 * 1024)] {
            let mut text = texts::of_lines(line, bytes, &mut Numbers::new(7));
            // One secret in each text, in its middle.
            let middle = text.floor_char_boundary(bytes / 2);
            text.insert_str(middle, &values[SECRETS / 2]);
            rows.push(throughput(
                &format!("redact and cap, {kind}, {size}"),
                &text,
                &redactor,
                &searcher,
            )?);
        }
    }
    Ok(rows)
}

fn throughput(what: &str, text: &str, redactor: &Redactor, searcher: &AhoCorasick) -> Result<Row> {
    let rounds = MEASURED_BYTES / text.len();
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(5) {
        let filtered = Raw::text(text.to_owned()).filter(Filter::None);
        let begun = Instant::now();
        let capped = filtered.redact(redactor).cap(CAP_BYTES);
        ours.push(begun.elapsed());
        ensure!(!capped.is_truncated(), "{what}");
        let begun = Instant::now();
        let found = searcher.find_iter(text).count();
        other.push(begun.elapsed());
        ensure!(found == 1, "{what}: {found}");
    }
    Ok(Row {
        what: what.to_owned(),
        ours: Some(megabytes_per_second(text, &mut ours)),
        other: Some(megabytes_per_second(text, &mut other)),
        unit: "MB/s",
        count: rounds.max(5),
        against: "a search for the raw values alone".to_owned(),
    })
}

fn megabytes_per_second(text: &str, times: &mut [Duration]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let bytes = text.len() as f64;
    bytes / median_ms(times) / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "some megabytes")]
fn kib(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}
