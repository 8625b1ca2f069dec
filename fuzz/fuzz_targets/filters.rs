//! Filters and cap never panic, never split a character, and change nothing the second time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tool_result::{Filter, Raw, Redactor};

const FILTERS: [Filter; 4] = [
    Filter::None,
    Filter::Terminal,
    Filter::TerminalFolded,
    Filter::Page,
];

fn capped(text: &str, filter: Filter, cap: usize) -> (String, bool) {
    let filtered = Raw::text(text.to_owned()).filter(filter);
    let capped = filtered.redact(&Redactor::default()).cap(cap);
    (capped.text().to_owned(), capped.is_truncated())
}

fuzz_target!(|data: (u16, &str)| {
    let (cap, text) = data;
    for filter in FILTERS {
        let (once, _) = capped(text, filter, usize::MAX);
        let (twice, _) = capped(&once, filter, usize::MAX);
        assert_eq!(once, twice, "{filter:?}");
        assert!(!once.contains('\0'));

        let cap = 16 + usize::from(cap);
        let (cut, truncated) = capped(text, filter, cap);
        assert_eq!(truncated, once.len() > cap);
        if truncated {
            let kept = cut.strip_suffix("\n[truncated]").unwrap();
            assert!(once.starts_with(kept));
            // No more is left out than a character that did not fit.
            assert!(cut.len() <= cap && cut.len() + 4 > cap);
        } else {
            assert_eq!(cut, once);
        }
        let again = Raw::text(cut.clone()).filter(Filter::None);
        assert_eq!(again.redact(&Redactor::default()).cap(cap).text(), cut);
    }
});
