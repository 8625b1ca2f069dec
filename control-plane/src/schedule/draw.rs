//! A draw of minutes that lie apart, uniform over all sets there are, from a keyed seed.

use std::collections::BTreeSet;
use std::ops::Range;

use ring::hmac;

use super::{APART, Minute};

/// Numbers that only the seed and the day decide: HMAC-SHA256 in counter mode.
struct Stream {
    key: hmac::Key,
    day: i32,
    block: u32,
    left: Vec<u64>,
}

impl Stream {
    fn new(seed: &[u8], day: i32) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, seed),
            day,
            block: 0,
            left: Vec::new(),
        }
    }

    fn next(&mut self) -> u64 {
        if let Some(number) = self.left.pop() {
            return number;
        }
        let mut text = [0; 8];
        text[..4].copy_from_slice(&self.day.to_be_bytes());
        text[4..].copy_from_slice(&self.block.to_be_bytes());
        self.block += 1;
        let tag = hmac::sign(&self.key, &text);
        self.left = tag
            .as_ref()
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| u64::from_be_bytes(*bytes))
            .collect();
        self.left.pop().unwrap_or_default()
    }

    /// A number below `limit`, each equally likely.
    fn below(&mut self, limit: u64) -> u64 {
        // Numbers above the last whole multiple would make small results likelier.
        let most = u64::MAX - (u64::MAX % limit + 1) % limit;
        loop {
            let number = self.next();
            if number <= most {
                return number % limit;
            }
        }
    }

    /// A number in [0, 1) of 53 bits.
    fn fraction(&mut self) -> f64 {
        const SCALE: f64 = (1_u64 << 53) as f64;
        (self.next() >> 11) as f64 / SCALE
    }
}

/// Most wake-ups that fit into so many minutes in a row.
#[must_use]
pub const fn fits(minutes: Minute) -> Minute {
    (minutes + APART - 1) / APART
}

/// Draws `count` minutes out of ranges, fewer when not so many fit, any two at least
/// [`APART`] apart; every such set is equally likely. Ranges are in order and don't touch.
pub(super) fn draw(seed: &[u8], day: i32, ranges: &[Range<Minute>], count: usize) -> Vec<Minute> {
    let mut stream = Stream::new(seed, day);
    match ranges {
        [] => Vec::new(),
        [range] => in_one(&mut stream, range, count),
        ranges => {
            let minutes: Vec<Minute> = ranges.iter().cloned().flatten().collect();
            in_several(&mut stream, &minutes, count)
        }
    }
}

/// Of one range: sets of minutes that lie apart are sets of any minutes of a range that is
/// shorter by what lies between them.
fn in_one(stream: &mut Stream, range: &Range<Minute>, count: usize) -> Vec<Minute> {
    let length = range.end - range.start;
    let count = Minute::try_from(count)
        .unwrap_or(Minute::MAX)
        .min(fits(length));
    if count <= 0 {
        return Vec::new();
    }
    let places = (length - (APART - 1) * (count - 1)).unsigned_abs();
    let mut chosen = BTreeSet::new();
    for last in places - count.unsigned_abs()..places {
        let place = stream.below(last + 1);
        if !chosen.insert(place) {
            chosen.insert(last);
        }
    }
    (0..)
        .zip(chosen)
        .map(|(nth, place): (Minute, u64)| range.start + place.cast_signed() + (APART - 1) * nth)
        .collect()
}

/// Of several ranges, as a clock that is set back makes them: counts the sets and walks
/// down the counts. They are far below the largest `f64`, whose error is far below what
/// anybody could see in draws.
fn in_several(stream: &mut Stream, minutes: &[Minute], count: usize) -> Vec<Minute> {
    let count = count.min(most(minutes));
    let total = minutes.len();
    let after: Vec<usize> = minutes
        .iter()
        .map(|minute| minutes.partition_point(|other| *other < minute + APART))
        .collect();
    // ways[i * (count + 1) + k]: sets of k out of the minutes from i on.
    let width = count + 1;
    let mut ways = vec![0.0; (total + 1) * width];
    ways[total * width] = 1.0;
    for i in (0..total).rev() {
        ways[i * width] = 1.0;
        for k in 1..width {
            ways[i * width + k] = ways[(i + 1) * width + k] + ways[after[i] * width + k - 1];
        }
    }
    let (mut chosen, mut i, mut left) = (Vec::with_capacity(count), 0, count);
    while left > 0 && i < total {
        let with = ways[after[i] * width + left - 1];
        if stream.fraction() * ways[i * width + left] < with {
            chosen.push(minutes[i]);
            left -= 1;
            i = after[i];
        } else {
            i += 1;
        }
    }
    chosen
}

/// Most minutes that lie apart: taking each as early as it can be leaves most room.
fn most(minutes: &[Minute]) -> usize {
    let mut free = Minute::MIN;
    minutes
        .iter()
        .filter(|minute| {
            let taken = **minute >= free;
            if taken {
                free = **minute + APART;
            }
            taken
        })
        .count()
}

#[cfg(test)]
mod tests;
