//! Claims about windows: their minutes over clock changes as literals, and the days one after another.

use std::collections::BTreeMap;

use super::super::cron::tests::at;
use super::*;

const SEED: [u8; 32] = [9; 32];

fn window(timezone: &str, start: &str, end: &str, max_wakes: i64) -> Window {
    Window::parse(timezone, (start, end), max_wakes, |_, _| None).unwrap()
}

/// Days since 1970-01-01.
fn day(date: &str) -> i32 {
    i32::try_from(at(&format!("{date}T00:00")) / 1_440).unwrap()
}

type Case = (
    (&'static str, &'static str, &'static str, &'static str),
    &'static [(&'static str, i64)],
);

/// Zone, local day, start, end; then the first UTC minute and the length of each piece.
const WINDOWS: [Case; 28] = [
    (("America/New_York", "2025-03-09", "02:10", "02:50"), &[]),
    (
        ("America/New_York", "2025-03-09", "02:30", "03:15"),
        &[("2025-03-09T07:00", 15)],
    ),
    (
        ("America/New_York", "2025-03-09", "01:00", "04:00"),
        &[("2025-03-09T06:00", 120)],
    ),
    (
        ("America/New_York", "2025-11-02", "01:15", "01:45"),
        &[("2025-11-02T05:15", 30), ("2025-11-02T06:15", 30)],
    ),
    (
        ("America/New_York", "2025-11-02", "01:01", "01:59"),
        &[("2025-11-02T05:01", 58), ("2025-11-02T06:01", 58)],
    ),
    (
        ("America/New_York", "2025-11-02", "00:30", "01:30"),
        &[("2025-11-02T04:30", 60), ("2025-11-02T06:00", 30)],
    ),
    (
        ("America/New_York", "2025-11-01", "22:00", "02:00"),
        &[("2025-11-02T02:00", 300)],
    ),
    (
        ("America/New_York", "2025-03-08", "22:00", "06:00"),
        &[("2025-03-09T03:00", 420)],
    ),
    (
        ("America/New_York", "2025-07-01", "09:00", "17:00"),
        &[("2025-07-01T13:00", 480)],
    ),
    (
        ("Australia/Lord_Howe", "2025-04-06", "01:00", "03:00"),
        &[("2025-04-05T14:00", 150)],
    ),
    (
        ("Australia/Lord_Howe", "2025-10-05", "01:00", "03:00"),
        &[("2025-10-04T14:30", 90)],
    ),
    (
        ("Australia/Lord_Howe", "2025-04-06", "01:40", "01:50"),
        &[("2025-04-05T14:40", 10), ("2025-04-05T15:10", 10)],
    ),
    (
        ("Pacific/Chatham", "2025-04-06", "02:00", "04:00"),
        &[("2025-04-05T12:15", 180)],
    ),
    (
        ("Pacific/Chatham", "2025-09-28", "02:00", "04:00"),
        &[("2025-09-27T13:15", 60)],
    ),
    (("Pacific/Chatham", "2025-09-28", "02:50", "03:40"), &[]),
    (
        ("America/Sao_Paulo", "2018-11-04", "00:00", "02:00"),
        &[("2018-11-04T03:00", 60)],
    ),
    (
        ("America/Sao_Paulo", "2018-11-03", "23:00", "01:30"),
        &[("2018-11-04T02:00", 90)],
    ),
    (
        ("America/Sao_Paulo", "2018-02-17", "22:30", "00:30"),
        &[("2018-02-18T00:30", 180)],
    ),
    (
        ("America/Sao_Paulo", "2018-02-16", "23:30", "23:10"),
        &[("2018-02-17T01:30", 1420), ("2018-02-18T02:00", 10)],
    ),
    (
        ("America/Sao_Paulo", "2018-02-17", "23:30", "23:10"),
        &[("2018-02-18T01:30", 30), ("2018-02-18T02:30", 1420)],
    ),
    (("Pacific/Apia", "2011-12-30", "09:00", "17:00"), &[]),
    (
        ("Pacific/Apia", "2011-12-29", "22:00", "02:00"),
        &[("2011-12-30T08:00", 120)],
    ),
    (
        ("Pacific/Apia", "2011-12-30", "22:00", "02:00"),
        &[("2011-12-30T10:00", 120)],
    ),
    (
        ("Pacific/Apia", "2011-12-31", "09:00", "17:00"),
        &[("2011-12-30T19:00", 480)],
    ),
    (
        ("Europe/Paris", "2026-10-24", "20:00", "04:00"),
        &[("2026-10-24T18:00", 540)],
    ),
    (
        ("Africa/Casablanca", "2026-02-15", "02:00", "04:00"),
        &[("2026-02-15T01:00", 180)],
    ),
    (
        ("Asia/Kathmandu", "2026-01-01", "23:59", "00:01"),
        &[("2026-01-01T18:14", 2)],
    ),
    (
        ("UTC", "2026-12-31", "00:00", "23:59"),
        &[("2026-12-31T00:00", 1439)],
    ),
];

#[test]
fn a_window_holds_exactly_the_minutes_that_its_clock_shows() {
    for ((zone, date, start, end), pieces) in WINDOWS {
        let pieces: Vec<Range<Minute>> = pieces
            .iter()
            .map(|(first, minutes)| at(first)..at(first) + minutes)
            .collect();
        let found = window(zone, start, end, 1).ranges(day(date));
        assert_eq!(found, pieces, "{zone} {date} {start}-{end}");
    }
}

/// Draws 100,000 times for one day of a window, each time for a schedule of its own, and
/// holds chi-square between the 0.0001 quantiles of its distribution on both sides. A draw
/// is told by its distances from the first minute of the window.
#[track_caller]
fn uniform(window: &Window, date: &str, sets: usize, (low, high): (f64, f64)) {
    const DRAWS: u32 = 100_000;
    let day = day(date);
    let first = window.ranges(day)[0].start;
    let mut seen: BTreeMap<Vec<Minute>, u32> = BTreeMap::new();
    let mut seed = SEED;
    for number in 0..DRAWS {
        seed[..4].copy_from_slice(&number.to_be_bytes());
        let drawn = window.plan(&seed, day, &[]).minutes;
        assert!(drawn.windows(2).all(|pair| pair[1] - pair[0] >= 5));
        let places = drawn.iter().map(|minute| minute - first).collect();
        *seen.entry(places).or_default() += 1;
    }
    // A set that never came counts as much as one that can't be: both change the number.
    assert_eq!(seen.len(), sets);
    let expected = f64::from(DRAWS) / sets as f64;
    let square: f64 = seen
        .values()
        .map(|count| (f64::from(*count) - expected).powi(2) / expected)
        .sum();
    assert!((low..high).contains(&square), "chi-square {square}");
}

#[test]
fn draws_of_a_window_on_an_ordinary_day_are_uniform() {
    // C(12 - 4, 2) = 28 sets: 27 degrees of freedom.
    let window = window("Asia/Kolkata", "09:00", "09:12", 2);
    uniform(&window, "2026-12-01", 28, (7.56, 63.41));
}

#[test]
fn draws_of_a_window_that_spans_midnight_are_uniform() {
    // C(21 - 8, 3) = 286 sets: 285 degrees of freedom.
    let window = window("Pacific/Chatham", "23:50", "00:11", 3);
    uniform(&window, "2026-12-01", 286, (204.57, 382.52));
}

#[test]
fn draws_of_a_window_that_a_clock_repeats_are_uniform() {
    // Six minutes twice: 6 x 6 pairs, and in each six the first with the last; 37 degrees.
    let window = window("America/New_York", "01:54", "02:00", 2);
    uniform(&window, "2025-11-02", 38, (13.14, 77.79));
}

fn from(after: Minute) -> From {
    From {
        after,
        earliest: Minute::MIN,
    }
}

/// The fires after a minute, each found from the one before as the loop does.
fn fires(window: &Window, after: &str, count: usize) -> Vec<Minute> {
    let (mut now, mut plan) = (at(after), None);
    (0..count)
        .map(|_| {
            let next = window.next(&SEED, from(now), plan.as_ref()).unwrap();
            (now, plan) = (next.at, next.plan);
            now
        })
        .collect()
}

#[test]
fn each_day_has_exactly_its_wake_ups_inside_its_window() {
    let window = window("Europe/Paris", "22:30", "01:30", 4);
    let fires = fires(&window, "2026-12-01T00:30", 400);
    // What is left of the night that has begun comes first.
    let begun = fires
        .iter()
        .take_while(|fire| **fire < at("2026-12-01T12:00"))
        .count();
    assert!(begun < 4, "{begun}");
    for (nights, night) in fires[begun..].chunks_exact(4).enumerate() {
        let noon = at("2026-12-01T12:00") + i64::try_from(nights).unwrap() * 1_440;
        // 22:30 in Paris is 21:30 UTC in winter and 20:30 in summer.
        assert!(night[0] >= noon + 510 && night[3] < noon + 810, "{nights}");
        assert!(night.windows(2).all(|pair| pair[1] - pair[0] >= 5));
    }
}

#[test]
fn the_day_befores_last_wake_up_is_five_minutes_away_too() {
    let whole = window("UTC", "00:00", "23:59", 288);
    let fires = fires(&whole, "2026-12-01T23:59", 288 * 30);
    assert!(fires.windows(2).all(|pair| pair[1] - pair[0] >= 5));
    // Exactly as many each day although every day begins near the end of the one before.
    for (number, fire) in fires.iter().enumerate() {
        let expected = i64::try_from(number / 288).unwrap();
        assert_eq!(
            (fire - at("2026-12-02T00:00")) / 1_440,
            expected,
            "{number}"
        );
    }
}

#[test]
fn a_skipped_date_does_not_hide_the_day_before_it() {
    let whole = window("Pacific/Apia", "00:00", "23:59", 288);
    let fires = fires(&whole, "2011-12-28T12:00", 288 * 5);
    assert!(fires.windows(2).all(|pair| pair[1] - pair[0] >= 5));
}

#[test]
fn windows_that_a_clock_set_back_puts_into_each_other_stay_apart_and_in_order() {
    // 23:00 to 24:00 of 17 February came twice: the window of the 16th ends inside the 17th's.
    let nearly_whole = window("America/Sao_Paulo", "23:30", "23:10", 100);
    let fires = fires(&nearly_whole, "2018-02-14T12:00", 600);
    assert!(fires.windows(2).all(|pair| pair[1] - pair[0] >= 5));
    let first = nearly_whole.plan(&SEED, day("2018-02-16"), &[]);
    let second = nearly_whole.plan(&SEED, day("2018-02-17"), &first.minutes);
    assert_eq!((first.minutes.len(), second.minutes.len()), (100, 100));
}

#[test]
fn what_is_drawn_for_a_day_stays_whenever_it_is_asked() {
    let window = window("America/New_York", "09:00", "17:00", 5);
    let all = fires(&window, "2026-12-01T00:00", 5);
    // From the beginning of the day, from its middle, with and without what was drawn.
    for after in ["2026-12-01T06:00", "2026-12-01T15:00", "2026-12-01T18:30"] {
        let left: Vec<Minute> = all
            .iter()
            .copied()
            .filter(|fire| *fire > at(after))
            .collect();
        assert_eq!(fires(&window, after, left.len()), left, "{after}");
        let next = window.next(&SEED, from(at(after)), None).unwrap();
        let again = window.next(&SEED, from(at(after)), next.plan.as_ref());
        assert_eq!(again, Some(next));
    }
}

#[test]
fn days_whose_window_has_no_minute_are_passed_over() {
    let gap = window("America/New_York", "02:10", "02:50", 1);
    let next = gap
        .next(&SEED, from(at("2025-03-08T08:00")), None)
        .unwrap()
        .at;
    assert!((at("2025-03-10T06:10")..at("2025-03-10T06:50")).contains(&next));
}

#[test]
fn a_fire_keeps_its_distance_from_the_one_before() {
    let window = window("UTC", "00:00", "23:59", 288);
    for late in 0..60 {
        let now = at("2026-12-01T10:00") + late;
        let earliest = now + 5;
        let next = window
            .next(
                &SEED,
                From {
                    after: now,
                    earliest,
                },
                None,
            )
            .unwrap();
        assert!(next.at >= earliest && next.at < earliest + 10);
    }
}

#[track_caller]
fn refused(timezone: &str, start: &str, end: &str, max_wakes: i64, expected: &[&str]) {
    let found = Window::parse(timezone, (start, end), max_wakes, |_, names| {
        assert!(names.contains(&"Europe/Paris"));
        Some("Europe/Paris".to_owned())
    });
    assert_eq!(found.unwrap_err(), expected);
}

#[test]
fn what_is_no_zone_is_refused_with_the_nearest() {
    for name in [
        "Europe/Pairs",
        "europe/paris",
        "UTC+2",
        "CET-1CEST",
        "+02:00",
        "Local",
        "",
        "Etc/Unknown",
        "../../etc/passwd",
    ] {
        let told = format!(
            "timezone is \"{name}\"; it has to be the name of a time zone of the IANA database; did you mean Europe/Paris?"
        );
        refused(name, "09:00", "10:00", 1, &[&told]);
    }
    for name in [
        "UTC",
        "Etc/UTC",
        "Europe/Paris",
        "US/Eastern",
        "Asia/Calcutta",
        "Etc/GMT+2",
    ] {
        assert!(
            Window::parse(name, ("09:00", "10:00"), 1, |_, _| None).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn every_problem_of_a_window_is_told_at_once() {
    refused(
        "Mars",
        "9:00",
        "24:00",
        0,
        &[
            "timezone is \"Mars\"; it has to be the name of a time zone of the IANA database; did you mean Europe/Paris?",
            "start is \"9:00\"; it has to be a local time HH:MM from 00:00 to 23:59",
            "end is \"24:00\"; it has to be a local time HH:MM from 00:00 to 23:59",
            "max_wakes has to be at least 1",
        ],
    );
    refused(
        "UTC",
        "09:00",
        "09:00",
        1,
        &["start and end are equal; a window needs some time"],
    );
    for (end, minutes, most) in [
        ("09:01", 1, 1),
        ("09:10", 10, 2),
        ("09:11", 11, 3),
        ("08:59", 1_439, 288),
    ] {
        assert!(Window::parse("UTC", ("09:00", end), most, |_, _| None).is_ok());
        let told = format!(
            "max_wakes is {}; a window of {minutes} minutes fits {most}, because wake-ups are at least 5 minutes apart",
            most + 1
        );
        refused("UTC", "09:00", end, most + 1, &[&told]);
    }
}
