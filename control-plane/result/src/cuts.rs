//! Where something cut a text before it came here, and where these places are after a filter.

/// Stands behind what was cut short. Noncharacters: nothing else can mean them.
const END: char = '\u{fdd0}';
/// Stands before what lost its beginning.
const START: char = '\u{fdd1}';
/// What a helper puts after output that it cut, as far as the machine's limit leaves of it
/// when the cut went through a character.
const REMAINDERS: [&str; 5] = ["\n", "\n[", "\n[e", "\n[k", "\n[s"];

/// By this the product tells that it cut something.
const ELLIPSIS: &str = "…";
/// Characters of a command line before the ellipsis by which a helper ends it.
const COMMAND: usize = 120;

/// Places in a text, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cuts {
    /// The text up to here lacks what came next.
    pub(super) ends: Vec<usize>,
    /// The text from here on lacks what came before.
    pub(super) starts: Vec<usize>,
}

impl Cuts {
    /// A text whose beginning is missing.
    pub(super) fn tail() -> Self {
        Self {
            ends: Vec::new(),
            starts: vec![0],
        }
    }

    /// The cuts of a machine's text: at `end` where its limit ended it, around each line
    /// by which `guilds-code` says that it left out the middle, in the command lines that it
    /// names, and in the first line of an `error`, which quotes what was given shortened.
    pub(super) fn find(text: &str, end: Option<usize>, error: bool) -> Self {
        let mut cuts = Self::default();
        if let Some(end) = end {
            cuts.ends.push(end);
            let before = &text[..end];
            let remainders = REMAINDERS.iter().filter(|left| before.ends_with(**left));
            cuts.ends.extend(remainders.map(|left| end - left.len()));
        }
        for (head_end, tail_start) in seams(text) {
            // The line break before the line may be the value's or the line's own.
            cuts.ends.extend([head_end.saturating_sub(1), head_end]);
            cuts.starts.push(tail_start);
        }
        cuts.ends.extend(commands(text));
        if error {
            let line = text.split('\n').next().unwrap_or_default();
            let cut = line.match_indices(ELLIPSIS).map(|(at, _)| at);
            cuts.ends.extend(cut);
        }
        cuts.ends.sort_unstable();
        cuts.ends.dedup();
        cuts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.starts.is_empty()
    }

    /// The text with a sign at each cut.
    pub(super) fn sign(&self, text: &str) -> String {
        let ends = self.ends.iter().map(|&at| (at, END));
        let starts = self.starts.iter().map(|&at| (at, START));
        let mut signs: Vec<_> = ends.chain(starts).collect();
        signs.sort_by_key(|&(at, _)| at);
        let mut signed = String::with_capacity(text.len() + 3 * signs.len());
        let mut copied = 0;
        for (at, sign) in signs {
            signed.push_str(&text[copied..at]);
            signed.push(sign);
            copied = at;
        }
        signed.push_str(&text[copied..]);
        signed
    }

    /// A signed text without its signs, and where they were.
    pub(super) fn read(signed: &str) -> (String, Self) {
        let mut text = String::with_capacity(signed.len());
        let mut cuts = Self::default();
        let mut copied = 0;
        for (at, sign) in signed.match_indices(is_sign) {
            text.push_str(&signed[copied..at]);
            copied = at + sign.len();
            if sign.starts_with(END) {
                cuts.ends.push(text.len());
            } else {
                cuts.starts.push(text.len());
            }
        }
        text.push_str(&signed[copied..]);
        (text, cuts)
    }

    /// Follows the replacement of a stretch of a text by one of another length. The cuts inside
    /// it come to stand behind it. `before` are the cuts before any replacement.
    pub(super) fn replace(&mut self, before: &Self, old: (usize, usize), new: (usize, usize)) {
        let follow = |cuts: &mut Vec<usize>, before: &[usize]| {
            for (cut, &before) in cuts.iter_mut().zip(before) {
                if before > old.0 {
                    *cut = new.1 + before.saturating_sub(old.1);
                }
            }
        };
        follow(&mut self.ends, &before.ends);
        follow(&mut self.starts, &before.starts);
    }
}

/// Whether a character is a sign. It has no width and no part in what a filter does.
pub(super) const fn is_sign(c: char) -> bool {
    matches!(c, END | START)
}

/// Where the middle of an output was left out: the end of what is before the line that says
/// so, and the start of what is after it. The line is the one of `guilds-code`.
fn seams(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    const OPENING: &str = "[… ";
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let line = text[at..].split('\n').next().unwrap_or_default();
        let opens_line = at == 0 || text.as_bytes()[at - 1] == b'\n';
        let is_marker = line.ends_with(" …]") && line.contains(" left out here; ");
        (opens_line && is_marker).then(|| (at, (at + line.len() + 1).min(text.len())))
    })
}

/// Where the command lines of processes were cut: ``pid 7 `<120 characters>…` ``.
fn commands(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices("…`").filter_map(|(at, _)| {
        let mut before = text[..at].char_indices().rev();
        let (start, _) = before.nth(COMMAND - 1)?;
        let opening = text[..start].strip_suffix(" `")?;
        let word = opening.trim_end_matches(|c: char| c.is_ascii_digit());
        (word.len() < opening.len() && word.ends_with("pid ")).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_products_own_ellipses_are_cuts() {
        let command = "x".repeat(120);
        let text = format!("[left: pid 71 `{command}…`, pid 8 `sleep`]");
        assert_eq!(Cuts::find(&text, None, false).ends, [15 + 120]);
        for other in [
            format!("[left: pid 71 `{command}x…`]"),
            format!("[left: pid  `{command}…`]"),
            format!("[left: 71 `{command}…`]"),
            "pid 7 `x…`".to_owned(),
        ] {
            assert_eq!(Cuts::find(&other, None, false).ends, [0; 0], "{other}");
        }
        let error = "ERROR: \"ab…\" is no name\nread more…";
        assert_eq!(Cuts::find(error, None, true).ends, [10]);
        assert_eq!(Cuts::find(error, None, false).ends, [0; 0]);
    }

    #[test]
    fn a_seam_is_a_whole_line_of_its_own() {
        let text = "head\n[… 5 bytes and 1 line left out here; the whole output is in ~/a …]\ntail";
        let found: Vec<_> = seams(text).collect();
        let start = text.find("tail").unwrap();
        assert_eq!(found, [(5, start)]);
        assert_eq!(seams("[… 5 bytes left out here; x …]").count(), 1);
        for other in [
            "a [… 5 left out here; x …]\n",
            "[… 5 left out here; x\n",
            "[…]",
        ] {
            assert_eq!(seams(other).count(), 0, "{other}");
        }
    }

    #[test]
    fn what_a_cut_character_made_room_for_is_no_part_of_the_text() {
        assert_eq!(Cuts::find("abc\n[exit 3]", Some(3), false).ends, [3]);
        assert_eq!(Cuts::find("abc\n[e", Some(6), false).ends, [3, 6]);
        assert_eq!(Cuts::find("abc\n", Some(4), false).ends, [3, 4]);
    }

    #[test]
    fn signs_are_read_where_they_were_put() {
        let cuts = Cuts {
            ends: vec![1, 5],
            starts: vec![2, 5],
        };
        let signed = cuts.sign("abcde");
        assert_eq!(signed, "a\u{fdd0}b\u{fdd1}cde\u{fdd0}\u{fdd1}");
        assert_eq!(Cuts::read(&signed), ("abcde".to_owned(), cuts));
    }

    #[test]
    fn cuts_follow_what_is_replaced() {
        let before = Cuts {
            ends: vec![1, 4, 5, 9],
            starts: vec![6],
        };
        let mut cuts = before.clone();
        // From 2 to 5 ten bytes are put, then nothing from 7 to 9.
        cuts.replace(&before, (2, 5), (2, 12));
        assert_eq!(
            (cuts.ends.as_slice(), cuts.starts.as_slice()),
            (&[1, 12, 12, 16][..], &[13][..])
        );
        cuts.replace(&before, (7, 9), (14, 14));
        assert_eq!(
            (cuts.ends.as_slice(), cuts.starts.as_slice()),
            (&[1, 12, 12, 14][..], &[13][..])
        );
    }
}
