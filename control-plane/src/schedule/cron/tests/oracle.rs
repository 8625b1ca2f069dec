//! Generated expressions, compared with the crate `croner`, which nothing but this test uses.
//!
//! Where the two are known to differ, croner is asked what we mean, or not at all:
//! * Both day fields: for croner a field is free only when it *is* `*`, for us when it
//!   begins with it. So croner is told which of the two rules holds (`dom_and_dow`).
//! * Too dense: croner has no such rule. It only has to show the two near fires.
//! * `@daily`, `L`, `W`, `#`, `?`, `+`, seconds, years, steps beyond a field, empty items and
//!   line breaks: croner reads them, we refuse them. They are not generated.
//! * `FRI-MON` and other ranges that run backwards: both refuse them. Not generated.

use chrono::{DateTime, Utc};
use croner::parser::{CronParser, Seconds, Year};

use super::*;

/// Expressions compared.
const EXPRESSIONS: usize = 3_000;
/// Expressions that never fire; chance makes hardly any.
const NEVER: [&str; 2] = ["0 0 30,31 FEB *", "5 */3 31 4,6,9-11/2 *"];
/// Fires compared of each expression, from each beginning.
const COMPARED: usize = 10;
/// From a usual day, from the end of a year, and across the February that has no 29th.
const BEGINNINGS: [&str; 3] = ["2026-11-30T22:00", "2027-12-31T23:58", "2096-02-27T12:34"];

/// Numbers that are the same in each run of the test.
struct Numbers(u64);

impl Numbers {
    /// A number below a limit.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit)).unwrap()
    }

    fn one_in(&mut self, limit: u32) -> bool {
        self.below(limit) == 0
    }
}

/// Least and largest value, and words for the values.
struct Kind(u32, u32, &'static [&'static str]);

const KINDS: [Kind; 5] = [
    Kind(0, 59, &[]),
    Kind(0, 23, &[]),
    Kind(1, 31, &[]),
    Kind(
        1,
        12,
        &[
            "jan", "FEB", "Mar", "APR", "MAY", "jun", "JUL", "AUG", "SEP", "OCT", "NOV", "dec",
        ],
    ),
    Kind(0, 7, &["SUN", "mon", "TUE", "Wed", "THU", "FRI", "sat"]),
];

impl Kind {
    fn value(&self, value: u32, numbers: &mut Numbers) -> String {
        let word = self.2.get((value - self.0) as usize);
        match word {
            Some(word) if numbers.one_in(3) => (*word).to_owned(),
            _ if numbers.one_in(8) => format!("{value:02}"),
            _ => value.to_string(),
        }
    }

    fn item(&self, numbers: &mut Numbers) -> String {
        let Self(least, largest, _) = *self;
        let step =
            |from: u32, to: u32, numbers: &mut Numbers| 1 + numbers.below((to - from).clamp(1, 6));
        match numbers.below(8) {
            0 => format!("*/{}", step(least, largest, numbers)),
            1..4 => {
                let from = least + numbers.below(largest - least);
                let to = from + 1 + numbers.below(largest - from);
                let range = format!("{}-{}", self.value(from, numbers), self.value(to, numbers));
                if numbers.one_in(2) {
                    format!("{range}/{}", step(from, to, numbers))
                } else {
                    range
                }
            }
            _ => {
                let value = least + numbers.below(largest - least + 1);
                self.value(value, numbers)
            }
        }
    }

    fn field(&self, numbers: &mut Numbers) -> String {
        let items = 1 + numbers.below(3);
        (0..items)
            .map(|_| self.item(numbers))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// An expression. Most have one or two minutes, or they would all be too dense.
fn expression(numbers: &mut Numbers) -> String {
    let field = |(place, kind): (usize, &Kind)| match place {
        0 if !numbers.one_in(5) => {
            let first = numbers.below(60);
            if numbers.one_in(2) {
                first.to_string()
            } else {
                format!("{first},{}", numbers.below(60))
            }
        }
        2..5 if numbers.one_in(2) => "*".to_owned(),
        _ => kind.field(numbers),
    };
    KINDS
        .iter()
        .enumerate()
        .map(field)
        .collect::<Vec<_>>()
        .join(" ")
}

fn theirs(text: &str) -> Result<croner::Cron, croner::errors::CronError> {
    let fields: Vec<&str> = text.split(' ').collect();
    CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .dom_and_dow(fields[2].starts_with('*') || fields[4].starts_with('*'))
        .build()
        .parse(text)
}

fn after(cron: &croner::Cron, minute: Minute) -> Option<Minute> {
    let now: DateTime<Utc> = DateTime::from_timestamp(minute * 60, 0).unwrap();
    let next = cron.find_next_occurrence(&now, false).ok()?;
    Some(next.timestamp() / 60)
}

/// Whether two of its fires within a day are too near.
fn near_fires(cron: &croner::Cron) -> bool {
    let first = after(cron, at(BEGINNINGS[0]));
    let mut fires = std::iter::successors(first, |now| after(cron, *now)).take(1_441);
    let Some(mut before) = fires.next() else {
        return false;
    };
    fires.any(|fire| {
        let apart = fire - before;
        before = fire;
        apart < 5
    })
}

#[test]
fn generated_expressions_fire_when_another_reader_says() {
    let mut numbers = Numbers(20_261_130);
    let (mut fire, mut dense, mut never) = (0, 0, 0);
    let generated = (0..EXPRESSIONS).map(|_| expression(&mut numbers));
    for text in NEVER.into_iter().map(str::to_owned).chain(generated) {
        let other = theirs(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ours = match Cron::parse(&text) {
            Ok(ours) => ours,
            Err(problems) if problems[0].contains("never fires") => {
                assert_eq!(after(&other, at(BEGINNINGS[0])), None, "{text}");
                never += 1;
                continue;
            }
            Err(problems) => {
                assert!(
                    problems[0].contains("wake-ups have to be"),
                    "{text}: {problems:?}"
                );
                dense += 1;
                // Across midnight the two may be centuries away.
                if !problems[0].contains("of the next day") {
                    assert!(near_fires(&other), "{text}");
                }
                continue;
            }
        };
        fire += 1;
        for beginning in BEGINNINGS {
            let mut now = at(beginning);
            for _ in 0..COMPARED {
                let next = ours.next(now);
                assert_eq!(next, after(&other, now), "{text} after minute {now}");
                now = next.unwrap();
            }
        }
    }
    // The generator has to make enough of each.
    assert!(fire > EXPRESSIONS / 2 && dense > 100 && never >= NEVER.len());
}
