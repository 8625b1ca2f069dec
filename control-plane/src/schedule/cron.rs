//! Cron expressions of five fields in UTC: read into bit sets, refused when they never fire or too often.
//!
//! A day fires when day and weekday both match if either field starts with `*`, else
//! when one of them matches (the rule of Vixie's cron).

mod field;

use self::field::{DAY, Field, HOUR, MINUTE, MONTH, WEEKDAY};
use super::{APART, Minute};

/// Minutes of a day.
const DAY_MINUTES: Minute = 1_440;
/// After so many years the calendar repeats.
const CYCLE_YEARS: i64 = 400;
/// Most characters of an expression: all that a list of every minute needs.
const MAX_CHARACTERS: usize = 400;
const FIELDS: [&Field; 5] = [&MINUTE, &HOUR, &DAY, &MONTH, &WEEKDAY];

/// An expression that fires, and never twice within five minutes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// Minutes of a day, in order.
    times: Vec<Minute>,
    days: Days,
}

/// The days on which it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Days {
    days: u64,
    months: u64,
    weekdays: u64,
    /// One of day and weekday is enough.
    either: bool,
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// Every problem, written for whoever wrote the expression.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let words = words(text)?;
        let mut problems = Vec::new();
        let sets: Vec<u64> = FIELDS
            .iter()
            .zip(&words)
            .map(|(field, word)| {
                field
                    .parse(word)
                    .map_err(|what| problems.extend(what))
                    .unwrap_or_default()
            })
            .collect();
        let &[minutes, hours, days, months, weekdays] = sets.as_slice() else {
            return Err(problems);
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let cron = Self {
            times: times(minutes, hours),
            days: Days {
                days,
                months,
                weekdays,
                either: !words[2].starts_with('*') && !words[4].starts_with('*'),
            },
        };
        match cron.fault() {
            Some(fault) => Err(vec![fault]),
            None => Ok(cron),
        }
    }

    /// The first fire after a minute; none beyond the years that can be written.
    #[must_use]
    pub fn next(&self, after: Minute) -> Option<Minute> {
        let start = after.checked_add(1)?;
        let (mut day, minute) = (start.div_euclid(DAY_MINUTES), start.rem_euclid(DAY_MINUTES));
        if let Some(date) = Date::of(day)
            && self.days.contain(date, day)
            && let Some(time) = self.times.iter().find(|time| **time >= minute)
        {
            return Some(day * DAY_MINUTES + time);
        }
        day = self.days.next(day + 1)?;
        Some(day * DAY_MINUTES + self.times.first()?)
    }

    /// Why it can't be a schedule.
    fn fault(&self) -> Option<String> {
        if !self.days.ever() {
            return Some(
                "this cron never fires: none of its months has any of its days".to_owned(),
            );
        }
        let too_near = |a: Minute, b: Minute| (b - a < APART).then_some((a, b));
        let within = self
            .times
            .windows(2)
            .find_map(|pair| too_near(pair[0], pair[1]));
        if let Some((a, b)) = within {
            return Some(too_often(a, b, ""));
        }
        let (first, last) = (*self.times.first()?, *self.times.last()?);
        let (a, b) = too_near(last, first + DAY_MINUTES)?;
        // Nothing is wrong with it where no two days in a row fire.
        self.days
            .two_in_a_row()
            .then(|| too_often(a, b - DAY_MINUTES, " of the next day"))
    }
}

fn too_often(a: Minute, b: Minute, day: &str) -> String {
    let gap = (b - a).rem_euclid(DAY_MINUTES);
    let clock = |minute: Minute| format!("{:02}:{:02}", minute / 60, minute % 60);
    format!(
        "this cron fires at {} and at {} UTC{day}, {gap} {} apart; wake-ups have to be at least {APART} minutes apart",
        clock(a),
        clock(b),
        if gap == 1 { "minute" } else { "minutes" },
    )
}

/// The five words of an expression.
fn words(text: &str) -> Result<Vec<&str>, Vec<String>> {
    let refuse = |what: String| {
        Err(vec![format!(
            "{what}; allowed are five fields with a space between them: minute hour day month weekday, such as 30 9 * * MON-FRI"
        )])
    };
    let characters = text.chars().count();
    if characters > MAX_CHARACTERS {
        return refuse(format!(
            "cron has {characters} characters, at most {MAX_CHARACTERS} are allowed"
        ));
    }
    let words: Vec<&str> = text
        .split([' ', '\t'])
        .filter(|word| !word.is_empty())
        .collect();
    match words.as_slice() {
        [] => refuse("cron is empty".to_owned()),
        [word, ..] if word.starts_with('@') => {
            refuse(format!("cron is \"{}\"", field::shown(text)))
        }
        [_, _, _, _, _] => Ok(words),
        [_] => refuse("cron has 1 field".to_owned()),
        more => refuse(format!("cron has {} fields", more.len())),
    }
}

fn times(minutes: u64, hours: u64) -> Vec<Minute> {
    let each = |set: u64| (0..64).filter(move |bit| set >> bit & 1 == 1);
    each(hours)
        .flat_map(|hour| each(minutes).map(move |minute| hour * 60 + minute))
        .collect()
}

/// A day of the calendar.
#[derive(Debug, Clone, Copy)]
struct Date {
    year: i64,
    month: u32,
    day: u32,
}

impl Date {
    /// The date of a day since 1970-01-01, for years that RFC 3339 can write.
    fn of(day: i64) -> Option<Self> {
        let span = jiff::Span::new().try_days(day).ok()?;
        let date = jiff::civil::date(1970, 1, 1).checked_add(span).ok()?;
        Some(Self {
            year: i64::from(date.year()),
            month: u32::from(date.month().unsigned_abs()),
            day: u32::from(date.day().unsigned_abs()),
        })
    }

    const fn month_length(self) -> u32 {
        match self.month {
            2 if self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    const fn first_of_next_month(self) -> Self {
        let (year, month) = match self.month {
            12 => (self.year + 1, 1),
            month => (self.year, month + 1),
        };
        Self {
            year,
            month,
            day: 1,
        }
    }
}

impl Days {
    /// Whether a day fires, given as a date and as days since 1970-01-01, a Thursday.
    fn contain(&self, date: Date, day: i64) -> bool {
        let weekday = (day + 4).rem_euclid(7);
        let by_day = self.days >> date.day & 1 == 1;
        let by_weekday = self.weekdays >> weekday & 1 == 1;
        self.months >> date.month & 1 == 1
            && if self.either {
                by_day || by_weekday
            } else {
                by_day && by_weekday
            }
    }

    /// The first day that fires from `day` on, a month at a time.
    fn next(&self, mut day: i64) -> Option<i64> {
        let mut date = Date::of(day)?;
        let end = date.year + CYCLE_YEARS + 1;
        while date.year <= end {
            let left = i64::from(date.month_length() - date.day);
            if self.months >> date.month & 1 == 1 {
                for _ in 0..=left {
                    if self.contain(date, day) {
                        return Some(day);
                    }
                    day += 1;
                    date.day += 1;
                }
            } else {
                day += left + 1;
            }
            date = date.first_of_next_month();
        }
        None
    }

    /// Whether any day fires. Within a cycle of the calendar every date falls on every
    /// weekday, 29 February too, so only the lengths of the months decide.
    fn ever(&self) -> bool {
        self.either
            || (1..=12)
                .filter(|month| self.months >> month & 1 == 1)
                .any(|month| {
                    let longest = Date {
                        year: 2000,
                        month,
                        day: 1,
                    };
                    (1..=longest.month_length()).any(|day| self.days >> day & 1 == 1)
                })
    }

    /// Whether two days in a row fire, in any year.
    fn two_in_a_row(&self) -> bool {
        // 2000-01-01; its date is read once, the rest is counted.
        let first = 10_957;
        let days = CYCLE_YEARS * 146_097 / 400;
        let mut day = first;
        while let Some(found) = self.next(day) {
            if found > first + days {
                return false;
            }
            if Date::of(found + 1).is_some_and(|date| self.contain(date, found + 1)) {
                return true;
            }
            day = found + 1;
        }
        false
    }
}

#[cfg(test)]
pub(crate) mod tests;
