//! Windows of a few bytes that tell where in a text a pattern may stand: a bit for each window first, the exact window next.
//!
//! A text with none of the patterns costs one load, one multiplication and one look at a bit
//! for every `stride` bytes, however many patterns there are.

/// Bytes of the longest window.
pub(super) const WIDEST: usize = 8;
/// Bits of the filter for each window, of which two are set: of windows that are none, one in
/// a hundred passes.
const BITS_PER_WINDOW: usize = 16;
/// The smallest filter, as a power of two.
const MIN_BITS: u32 = 12;
/// The golden ratio of 64 bits: its product spreads any window over the upper bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A window of a pattern.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    window: u64,
    /// Whose it is.
    pub(super) pattern: u32,
    /// Bytes of the form before the window.
    pub(super) offset: u32,
}

/// Windows of one width, looked for at every `stride`th place of a text.
pub(super) struct Sieve {
    width: usize,
    stride: usize,
    bits: Vec<u64>,
    word_shift: u32,
    /// By the upper bits of a window's product, where its entries begin.
    buckets: Vec<u32>,
    bucket_shift: u32,
    entries: Vec<Entry>,
}

/// Windows as they are gathered.
pub(super) struct Windows {
    width: usize,
    stride: usize,
    entries: Vec<Entry>,
}

impl Windows {
    pub(super) const fn new(width: usize, stride: usize) -> Self {
        Self {
            width,
            stride,
            entries: Vec::new(),
        }
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    pub(super) const fn stride(&self) -> usize {
        self.stride
    }

    /// Adds the window of a pattern that begins its form's text at `offset`; it has all the
    /// bytes of the window's width.
    pub(super) fn add(&mut self, text: &[u8], offset: usize, pattern: u32) {
        self.entries.push(Entry {
            window: read(&text[offset..offset + self.width]),
            pattern,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        });
    }

    /// `None` without windows.
    pub(super) fn build(mut self) -> Option<Sieve> {
        let count = self.entries.len();
        if count == 0 {
            return None;
        }
        let log2 = |least: usize| least.next_power_of_two().trailing_zeros();
        // The words of the filter have 64 bits.
        let word_shift = 64 + 6 - log2(count * BITS_PER_WINDOW).max(MIN_BITS);
        let bucket_shift = 64 - log2(count).max(1);
        // Entries of one window in the order of their patterns.
        self.entries.sort_by_key(|entry| {
            let bucket = spread(entry.window) >> bucket_shift;
            (bucket, entry.window, entry.pattern, entry.offset)
        });
        let mut bits = vec![0; 1 << (64 - word_shift)];
        let mut buckets = vec![0_u32; (1 << (64 - bucket_shift)) + 1];
        for entry in &self.entries {
            let product = spread(entry.window);
            bits[(product >> word_shift) as usize] |= pair(product);
            buckets[(product >> bucket_shift) as usize + 1] += 1;
        }
        for at in 1..buckets.len() {
            buckets[at] += buckets[at - 1];
        }
        self.entries.shrink_to_fit();
        Some(Sieve {
            width: self.width,
            stride: self.stride,
            bits,
            word_shift,
            buckets,
            bucket_shift,
            entries: self.entries,
        })
    }
}

impl Sieve {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bits.len() * 8 + self.buckets.len() * 4 + self.entries.len() * size_of::<Entry>()
    }

    /// Visits the windows of a text that are one of these, with the place of each.
    pub(super) fn scan(&self, text: &[u8], mut hit: impl FnMut(usize, &Entry)) {
        let unused = 8 * (WIDEST - self.width);
        let mut at = 0;
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDEST>) {
            // The first byte is the lowest, so that what is too much shifts out above.
            let window = u64::from_le_bytes(*bytes) << unused >> unused;
            self.look(window, at, &mut hit);
            at += self.stride;
        }
        while let Some(bytes) = text.get(at..at + self.width) {
            self.look(read(bytes), at, &mut hit);
            at += self.stride;
        }
    }

    #[inline]
    fn look(&self, window: u64, at: usize, hit: &mut impl FnMut(usize, &Entry)) {
        let product = spread(window);
        let pair = pair(product);
        if self.bits[(product >> self.word_shift) as usize] & pair == pair {
            self.found(window, product, at, hit);
        }
    }

    #[cold]
    fn found(&self, window: u64, product: u64, at: usize, hit: &mut impl FnMut(usize, &Entry)) {
        let bucket = (product >> self.bucket_shift) as usize;
        let (from, to) = (self.buckets[bucket], self.buckets[bucket + 1]);
        for entry in &self.entries[from as usize..to as usize] {
            if entry.window == window {
                hit(at, entry);
            }
        }
    }
}

const fn spread(window: u64) -> u64 {
    window.wrapping_mul(SPREAD)
}

/// Two bits of a word, by bits of the product that tell nothing about which word.
const fn pair(product: u64) -> u64 {
    1 << (product >> 32 & 63) | 1 << (product >> 26 & 63)
}

/// At most eight bytes as a number.
fn read(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(width: usize, stride: usize, sought: &[&str], text: &str, expected: &[(usize, u32)]) {
        let mut windows = Windows::new(width, stride);
        for (pattern, sought) in (0..).zip(sought) {
            windows.add(sought.as_bytes(), 0, pattern);
        }
        let mut found = Vec::new();
        let sieve = windows.build().unwrap();
        sieve.scan(text.as_bytes(), |at, entry| found.push((at, entry.pattern)));
        assert_eq!(found, expected, "{sought:?} in {text}");
    }

    #[test]
    fn windows_are_found_to_the_last_byte() {
        check(4, 1, &["abcd"], "abcd", &[(0, 0)]);
        check(
            4,
            1,
            &["abcd", "bcde"],
            "xabcdeabcd",
            &[(1, 0), (2, 1), (6, 0)],
        );
        check(8, 1, &["abcdefgh"], "-abcdefgh", &[(1, 0)]);
        check(8, 1, &["abcdefgh"], "abcdefg", &[]);
        check(6, 1, &["aaaaaa"], "aaaaaaaa", &[(0, 0), (1, 0), (2, 0)]);
    }

    #[test]
    fn one_window_may_be_of_several_patterns() {
        check(4, 1, &["abcd", "zzzz", "abcd"], "-abcd", &[(1, 0), (1, 2)]);
    }

    #[test]
    fn a_stride_sees_every_so_manieth_place() {
        check(4, 4, &["aaaa"], "aaaaaaaaaa", &[(0, 0), (4, 0)]);
    }

    #[test]
    fn nothing_to_find_is_no_sieve() {
        assert!(Windows::new(4, 1).build().is_none());
    }
}
