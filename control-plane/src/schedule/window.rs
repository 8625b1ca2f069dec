//! Windows of local time: which UTC minutes are in one, and what is drawn of them day by day.
//!
//! The window of local day D is the set of UTC minutes whose local time lies in
//! [start, end), or, when it ends before it starts, in [start, 24:00) of D and
//! [00:00, end) of D + 1. So a minute that a clock skips is in no window, and one that
//! it shows twice is in it twice.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::draw::{draw, fits};
use super::{APART, From, Minute, Next, Plan};

/// Minutes of a day.
const DAY_MINUTES: Minute = 1_440;
const DAY_SECONDS: i64 = 86_400;
/// No zone is, or was, further from UTC than this.
const FURTHEST_SECONDS: i64 = 26 * 3_600;
/// Days without a wake-up after which none is looked for: no zone skips so many.
const MAX_EMPTY_DAYS: usize = 400;

/// The time zones of this build, not the machine's: every replica has the same.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A daily window and how often it wakes.
#[derive(Debug, Clone)]
pub struct Window {
    zone: TimeZone,
    /// Minute of the day.
    start: Minute,
    /// Minute of the day, or of the next one when it is not after `start`.
    end: Minute,
    max_wakes: usize,
}

impl Window {
    /// Reads a window.
    ///
    /// # Errors
    /// Every problem, written for whoever wrote it. `nearest` finds a name that was meant.
    pub fn parse(
        timezone: &str,
        (start, end): (&str, &str),
        max_wakes: i64,
        nearest: impl Fn(&str, &[&str]) -> Option<String>,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let zone = zone(timezone, nearest).map_err(|what| problems.push(what));
        let mut time = |name: &str, text: &str| {
            let minute = clock(text);
            if minute.is_none() {
                problems.push(format!(
                    "{name} is \"{}\"; it has to be a local time HH:MM from 00:00 to 23:59",
                    shown(text)
                ));
            }
            minute
        };
        let times = (time("start", start), time("end", end));
        if let (Some(start), Some(end)) = times {
            let minutes = (end - start).rem_euclid(DAY_MINUTES);
            let most = fits(minutes);
            if minutes == 0 {
                problems.push("start and end are equal; a window needs some time".to_owned());
            } else if max_wakes > most {
                problems.push(format!(
                    "max_wakes is {max_wakes}; a window of {minutes} minutes fits {most}, because wake-ups are at least {APART} minutes apart"
                ));
            }
        }
        let max_wakes = usize::try_from(max_wakes).ok().filter(|wakes| *wakes > 0);
        if max_wakes.is_none() {
            problems.push("max_wakes has to be at least 1".to_owned());
        }
        match (zone, times, max_wakes) {
            (Ok(zone), (Some(start), Some(end)), Some(max_wakes)) if problems.is_empty() => {
                Ok(Self {
                    zone,
                    start,
                    end,
                    max_wakes,
                })
            }
            _ => Err(problems),
        }
    }

    /// The next wake-up.
    pub(super) fn next(&self, seed: &[u8], from: From, plan: Option<&Plan>) -> Option<Next> {
        // Yesterday's window may still be open, and a date may have been skipped since.
        let first = self.local_day(from.after.max(from.earliest))? - 2;
        let mut before = Vec::new();
        let mut plan = match plan {
            Some(plan) if plan.day >= first => plan.clone(),
            _ => self.plan(seed, first, &before),
        };
        let due = |plan: &Plan| {
            let mut minutes = plan.minutes.iter().copied();
            minutes.find(|minute| from.allows(*minute))
        };
        for _ in 0..MAX_EMPTY_DAYS {
            if !plan.minutes.is_empty() {
                before.clone_from(&plan.minutes);
            }
            let following = || self.plan(seed, plan.day.saturating_add(1), &before);
            if let Some(mut at) = due(&plan) {
                // Only a window in pieces can have some of the next day's between them.
                if self.ranges(plan.day).len() > 1 {
                    at = due(&following()).map_or(at, |other| at.min(other));
                }
                let plan = Some(plan);
                return Some(Next { at, plan });
            }
            plan = following();
        }
        None
    }

    /// Draws a day's wake-ups, apart from those of the day before.
    fn plan(&self, seed: &[u8], day: i32, before: &[Minute]) -> Plan {
        let ranges = without(self.ranges(day), before);
        Plan {
            day,
            minutes: draw(seed, day, &ranges, self.max_wakes),
        }
    }

    /// The UTC minutes of the window of a local day, in order, as ranges that don't touch.
    fn ranges(&self, day: i32) -> Vec<Range<Minute>> {
        let midnight = i64::from(day) * DAY_SECONDS;
        let opens = midnight + self.start * 60;
        let closes = midnight
            + self.end * 60
            + if self.end > self.start {
                0
            } else {
                DAY_SECONDS
            };
        let mut ranges: Vec<Range<Minute>> = Vec::new();
        let (mut from, end) = (opens - FURTHEST_SECONDS, closes + FURTHEST_SECONDS);
        while from < end {
            let Ok(at) = Timestamp::from_second(from) else {
                return ranges;
            };
            // Until the clock changes, local time is UTC and an offset.
            let offset = i64::from(self.zone.to_offset(at).seconds());
            let change = self.zone.following(at).next();
            let to = change.map_or(end, |change| end.min(change.timestamp().as_second()));
            let first = minute_from(from.max(opens - offset));
            let last = minute_from(to.min(closes - offset));
            match ranges.last_mut() {
                _ if first >= last => {}
                Some(range) if range.end == first => range.end = last,
                _ => ranges.push(first..last),
            }
            from = to;
        }
        ranges
    }

    /// The local date of a minute, in days since 1970-01-01.
    fn local_day(&self, minute: Minute) -> Option<i32> {
        let second = minute.checked_mul(60)?;
        let at = Timestamp::from_second(second).ok()?;
        let local = second + i64::from(self.zone.to_offset(at).seconds());
        i32::try_from(local.div_euclid(DAY_SECONDS)).ok()
    }
}

/// The first whole minute that is not before a second.
const fn minute_from(second: i64) -> Minute {
    (second + 59).div_euclid(60)
}

/// Ranges without what lies too near to minutes, which are in order.
fn without(ranges: Vec<Range<Minute>>, minutes: &[Minute]) -> Vec<Range<Minute>> {
    let (Some(first), Some(last)) = (ranges.first(), minutes.last()) else {
        return ranges;
    };
    if last + APART <= first.start {
        return ranges;
    }
    minutes.iter().fold(ranges, |ranges, minute| {
        let near = minute - APART + 1..minute + APART;
        ranges
            .into_iter()
            .flat_map(|range| {
                [
                    range.start..range.end.min(near.start),
                    range.start.max(near.end)..range.end,
                ]
            })
            .filter(|range| range.start < range.end)
            .collect()
    })
}

/// The zone of an IANA name, spelt as the database spells it.
fn zone(name: &str, nearest: impl Fn(&str, &[&str]) -> Option<String>) -> Result<TimeZone, String> {
    // A name in another case is found too, and has to be written as it is.
    if let Ok(zone) = ZONES.get(name)
        && zone.iana_name() == Some(name)
    {
        return Ok(zone);
    }
    let known: Vec<_> = ZONES.available().collect();
    let names: Vec<&str> = known.iter().map(jiff::tz::TimeZoneName::as_str).collect();
    let hint = nearest(name, &names).map_or_else(
        || ", such as Europe/Paris or UTC".to_owned(),
        |near| format!("; did you mean {near}?"),
    );
    Err(format!(
        "timezone is \"{}\"; it has to be the name of a time zone of the IANA database{hint}",
        shown(name)
    ))
}

/// The minute of the day that `HH:MM` names.
fn clock(text: &str) -> Option<Minute> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, limit: Minute| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: Minute = digits.then(|| text.parse().ok()).flatten()?;
        (number < limit).then_some(number)
    };
    Some(number(hour, 24)? * 60 + number(minute, 60)?)
}

fn shown(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(61)
        .collect();
    if line.chars().count() > 60 {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
