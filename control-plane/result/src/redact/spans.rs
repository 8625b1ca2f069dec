//! What of a text goes: spans that may overlap, and the name each goes under.

/// A stretch of a text.
struct Span {
    start: usize,
    end: usize,
    name: Option<Name>,
}

impl Span {
    fn join(&mut self, other: Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.name = match (self.name, other.name) {
            (Some(a), Some(b)) if b.order() < a.order() => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        };
    }
}

/// The match that names a span: the one that starts first, then the longest.
#[derive(Clone, Copy)]
struct Name {
    start: usize,
    end: usize,
    value: u32,
}

impl Name {
    /// Two of the same stretch: the value that is first by name.
    fn order(self) -> (usize, std::cmp::Reverse<usize>, u32) {
        (self.start, std::cmp::Reverse(self.end), self.value)
    }
}

/// Spans as they are found, in any order.
#[derive(Default)]
pub(super) struct Spans {
    spans: Vec<Span>,
}

impl Spans {
    /// An occurrence of a form of a value, or a part of one that is long enough to tell which.
    pub(super) fn add(&mut self, start: usize, end: usize, value: u32) {
        self.put(Span {
            start,
            end,
            name: Some(Name { start, end, value }),
        });
    }

    /// What overlaps the last one becomes one with it: a text that is one long match after
    /// another must not become as many spans.
    fn put(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if span.start < last.end && last.start < span.end => last.join(span),
            _ => self.spans.push(span),
        }
    }

    /// A part of some value, too short to tell of which: it goes without a trace.
    pub(super) fn add_nameless(&mut self, start: usize, end: usize) {
        self.put(Span {
            start,
            end,
            name: None,
        });
    }

    /// Adds spans of another text, each where `place` says that it stands in this one.
    pub(super) fn add_all(&mut self, other: Self, place: impl Fn(usize, usize) -> (usize, usize)) {
        for span in other.spans {
            let name = span.name.map(|name| {
                let (start, end) = place(name.start, name.end);
                Name { start, end, ..name }
            });
            let (start, end) = place(span.start, span.end);
            self.put(Span { start, end, name });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Visits the unions of spans that overlap, in order: start, end, and the value that
    /// names it.
    pub(super) fn each(mut self, mut visit: impl FnMut(usize, usize, Option<u32>)) {
        self.spans.sort_by_key(|span| span.start);
        let mut spans = self.spans.into_iter();
        let Some(mut union) = spans.next() else {
            return;
        };
        for span in spans {
            if span.start >= union.end {
                visit(union.start, union.end, union.name.map(|name| name.value));
                union = span;
                continue;
            }
            union.join(span);
        }
        visit(union.start, union.end, union.name.map(|name| name.value));
    }
}
