//! Claims about draws: apart, complete, uniform.

// A list of one stretch of minutes is meant, not the minutes in it.
#![allow(clippy::single_range_in_vec_init)]

use std::collections::BTreeMap;

use super::*;

const SEED: [u8; 32] = [7; 32];
const DRAWS: i32 = 100_000;

/// Every set of `count` minutes that lie apart, by trying all.
fn sets(minutes: &[Minute], count: usize) -> Vec<Vec<Minute>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (place, first) in minutes.iter().enumerate() {
        for mut rest in sets(&minutes[place + 1..], count - 1) {
            if rest.first().is_none_or(|next| next - first >= 5) {
                rest.insert(0, *first);
                found.push(rest);
            }
        }
    }
    found
}

/// Draws 100,000 times and holds chi-square between the 0.0001 quantiles of its
/// distribution on both sides: too even is as wrong as too uneven.
#[track_caller]
fn uniform(ranges: &[Range<Minute>], count: usize, number_of_sets: usize, (low, high): (f64, f64)) {
    let minutes: Vec<Minute> = ranges.iter().cloned().flatten().collect();
    let mut seen: BTreeMap<Vec<Minute>, f64> = sets(&minutes, count)
        .into_iter()
        .map(|set| (set, 0.0))
        .collect();
    assert_eq!(seen.len(), number_of_sets);
    for day in 0..DRAWS {
        let set = draw(&SEED, day, ranges, count);
        *seen.get_mut(&set).unwrap_or_else(|| panic!("{set:?}")) += 1.0;
    }
    let expected = f64::from(DRAWS) / seen.len() as f64;
    let square: f64 = seen
        .values()
        .map(|count| (count - expected).powi(2) / expected)
        .sum();
    assert!((low..high).contains(&square), "chi-square {square}");
}

#[test]
fn every_set_of_two_of_twelve_minutes_is_equally_likely() {
    // C(12 - 4, 2) = 28 sets: 27 degrees of freedom.
    uniform(&[100..112], 2, 28, (7.56, 63.41));
}

#[test]
fn every_set_of_three_of_twenty_one_minutes_is_equally_likely() {
    // C(21 - 8, 3) = 286 sets: 285 degrees of freedom.
    uniform(&[-5..16], 3, 286, (204.57, 382.52));
}

#[test]
fn every_set_of_a_window_in_two_pieces_is_equally_likely() {
    // Minutes 0 to 5 and 8 to 13. One pair lies in the first piece, (0, 5), and one in the
    // second, (8, 13); of the 36 pairs between them 3 are 3 or 4 minutes apart: 35 sets.
    let low_and_high = (11.30, 73.70);
    uniform(&[0..6, 8..14], 2, 35, low_and_high);
}

#[test]
fn as_many_as_fit_are_drawn_and_no_more() {
    for (minutes, most) in [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3), (1_439, 288)] {
        assert_eq!(fits(minutes), most, "{minutes}");
        let all = draw(&SEED, 3, &[0..minutes], 1_000);
        assert_eq!(all.len(), usize::try_from(most).unwrap(), "{minutes}");
        let wanted = draw(&SEED, 3, &[0..minutes], usize::try_from(most).unwrap());
        assert_eq!(wanted, all);
    }
    assert_eq!(fits(0), 0);
    assert!(draw(&SEED, 3, &[], 4).is_empty());
    assert!(draw(&SEED, 3, &[0..0], 4).is_empty());
    assert_eq!(draw(&SEED, 3, &[0..6], 2), [0, 5]);
    // Two pieces that are near each other hold fewer than each alone.
    assert_eq!(draw(&SEED, 3, &[0..6, 8..9], 9).len(), 2);
    assert_eq!(
        draw(&SEED, 3, &[0..1, 2..3, 5..6, 9..10, 10..11], 9),
        [0, 5, 10]
    );
}

#[test]
fn a_long_window_in_pieces_is_drawn_whole_and_apart() {
    for count in [1, 60, 190, 300] {
        let chosen = draw(&SEED, 9, &[0..700, 730..1_560], count);
        // ⌈700 / 5⌉ + ⌈830 / 5⌉ fit.
        assert_eq!(chosen.len(), count.min(306));
        assert!(chosen.windows(2).all(|pair| pair[1] - pair[0] >= 5));
        assert!(chosen.iter().all(|minute| !(700..730).contains(minute)));
    }
}

#[test]
fn a_draw_depends_on_seed_and_day_alone() {
    let first = draw(&SEED, 20_000, &[0..480], 6);
    assert_eq!(draw(&SEED, 20_000, &[0..480], 6), first);
    assert_ne!(draw(&SEED, 20_001, &[0..480], 6), first);
    assert_ne!(draw(&[8; 32], 20_000, &[0..480], 6), first);
}

#[test]
fn numbers_below_a_limit_are_below_it_and_all_come() {
    let mut stream = Stream::new(&SEED, 0);
    for limit in [1, 2, 3, 7] {
        let mut seen = vec![false; limit as usize];
        for _ in 0..500 {
            seen[stream.below(limit) as usize] = true;
        }
        assert!(seen.iter().all(|seen| *seen), "{limit}");
    }
    assert!((0..500).all(|_| (0.0..1.0).contains(&stream.fraction())));
}
