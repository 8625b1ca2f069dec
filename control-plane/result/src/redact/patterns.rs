//! The forms that are looked for: short ones whole, of a long one a piece.
//!
//! Forms of values of many kilobytes would take many megabytes. Where the piece of such a form
//! stands in a text, a digest tells whether the form does.

use std::hash::{BuildHasher as _, RandomState};

use super::values::{FormId, Opened};

/// Forms up to this many bytes are kept whole.
pub(super) const WHOLE: usize = 64;
/// Bytes of a long form's piece.
const PIECE: usize = 32;

/// One form.
pub(super) struct Pattern {
    pub(super) form: FormId,
    /// Bytes of the form.
    pub(super) length: u32,
    /// Where in the form the piece begins; 0 when it is the form.
    piece_at: u32,
    /// Place of the piece in [`Patterns::pieces`].
    piece: u32,
    /// Place of the form's digest in [`Patterns::digests`], when the piece is not the form.
    digest: u32,
}

/// All forms. A pattern's number is its place.
#[derive(Default)]
pub(super) struct Patterns {
    list: Vec<Pattern>,
    pieces: Vec<u8>,
    digests: Vec<u64>,
    /// Keys of the digests, which nobody else knows.
    keys: RandomState,
    longest: usize,
}

/// A pattern in a text where one of its windows was found.
pub(super) enum Stand {
    /// It stands there, up to the second place.
    Whole(usize, usize),
    /// Its piece does, and it would begin here.
    Piece(usize),
}

impl Patterns {
    /// Adds a form whose piece has to hold the byte at `around`. Answers its number.
    pub(super) fn add(&mut self, form: FormId, text: &[u8], around: usize) -> u32 {
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let piece_at = if text.len() <= WHOLE {
            0
        } else {
            (around.saturating_sub(PIECE / 4)).min(text.len() - PIECE)
        };
        let length = if text.len() <= WHOLE {
            text.len()
        } else {
            PIECE
        };
        self.list.push(Pattern {
            form,
            length: number(text.len()),
            piece_at: number(piece_at),
            piece: number(self.pieces.len()),
            digest: number(self.digests.len()),
        });
        if length < text.len() {
            self.digests.push(self.keys.hash_one(text));
        }
        self.pieces
            .extend_from_slice(&text[piece_at..piece_at + length]);
        self.longest = self.longest.max(text.len());
        number(self.list.len() - 1)
    }

    /// Frees what growing took too much.
    pub(super) fn shrink(&mut self) {
        self.list.shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.digests.shrink_to_fit();
    }

    pub(super) fn get(&self, pattern: u32) -> &Pattern {
        &self.list[pattern as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of the longest form.
    pub(super) const fn longest(&self) -> usize {
        self.longest
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.list.len() * size_of::<Pattern>() + self.pieces.len() + self.digests.len() * 8
    }

    fn piece(&self, pattern: &Pattern) -> &[u8] {
        let length = if pattern.length as usize <= WHOLE {
            pattern.length as usize
        } else {
            PIECE
        };
        &self.pieces[pattern.piece as usize..][..length]
    }

    /// Whether the pattern stands in the text so that the byte of its form at `offset` is the
    /// text's at `at`.
    pub(super) fn stands(
        &self,
        pattern: u32,
        text: &[u8],
        at: usize,
        offset: u32,
    ) -> Option<Stand> {
        let pattern = self.get(pattern);
        let start = at.checked_sub(offset as usize)?;
        let piece = self.piece(pattern);
        text.get(start + pattern.piece_at as usize..)?
            .starts_with(piece)
            .then(|| {
                if piece.len() == pattern.length as usize {
                    Stand::Whole(start, start + piece.len())
                } else {
                    Stand::Piece(start)
                }
            })
    }

    /// Whether a form of which a piece was kept begins at `start` of a text.
    pub(super) fn begins(&self, pattern: u32, text: &[u8], start: usize) -> bool {
        let pattern = self.get(pattern);
        let digest = self.digests.get(pattern.digest as usize);
        text.get(start..start + pattern.length as usize)
            .is_some_and(|stretch| digest == Some(&self.keys.hash_one(stretch)))
    }

    /// The text of a form.
    pub(super) fn text<'a>(&'a self, pattern: u32, opened: &'a mut Opened<'_>) -> &'a [u8] {
        let pattern = self.get(pattern);
        let piece = self.piece(pattern);
        if piece.len() == pattern.length as usize {
            return piece;
        }
        opened.form(pattern.form).as_bytes()
    }
}
