//! Tags in a post: `@name` asks somebody, unless it stands in code, in an address or in a URL.

/// The names that a post tags, as written and without `@`, each once, in their order.
///
/// A tag is an `@` that begins a word, then a letter, then letters, digits, `-` and `_`;
/// what follows may be punctuation, but no `@`, and no `.` or `/` that goes on with a letter
/// or digit, as addresses and package names do. `\@` is no tag.
pub(super) fn tags(post: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = post;
    let mut before = String::new();
    while let Some(character) = rest.chars().next() {
        let taken = if let Some(code) = code(rest, &before) {
            code
        } else if character == '@' && begins_word(&before) {
            let name = name(&rest[1..]);
            if let Some(name) = name {
                if !found.iter().any(|other| same(other, name)) {
                    found.push(name.to_owned());
                }
                1 + name.len()
            } else {
                1
            }
        } else {
            character.len_utf8()
        };
        let (text, after) = rest.split_at(taken);
        match text.rfind(char::is_whitespace) {
            // Only the word that is going on counts.
            Some(end) => {
                let line_end = text[end..].starts_with('\n');
                before.clear();
                before.push(if line_end { '\n' } else { ' ' });
                before.extend(text[end..].chars().skip(1));
            }
            None => before.push_str(text),
        }
        rest = after;
    }
    found
}

/// Whether two names are one: ids have no upper case.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Whether a word may begin after what stands before it, which begins with the last white
/// space.
fn begins_word(before: &str) -> bool {
    // Emphasis may open a word, and `_` in a word is a part of it.
    let word = before.trim_end_matches('_');
    let last = word.chars().next_back();
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '@' | '\\' | '+' | '%');
    !last.is_some_and(goes_on) && !before.contains("://")
}

/// The name after an `@`.
fn name(text: &str) -> Option<&str> {
    if !text.starts_with(char::is_alphabetic) {
        return None;
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(text.len());
    let mut after = text[end..].chars();
    let goes_on = match after.next() {
        Some('@') => true,
        Some('.' | '/') => after.next().is_some_and(char::is_alphanumeric),
        _ => false,
    };
    (!goes_on).then(|| text[..end].trim_end_matches(['-', '_']))
}

/// Bytes of the code that a text begins with: a fenced block at the beginning of a line, or
/// a span between equal runs of backticks.
fn code(text: &str, before: &str) -> Option<usize> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = text.len() - text.trim_start_matches(mark).len();
    let opens_line = before.is_empty() || before == "\n" || before == " ";
    if run >= 3 && opens_line {
        // To the line that closes it, else to the end.
        let mut length = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            length += line.len();
            let closing = line.trim();
            if number > 0 && closing.len() >= run && closing.chars().all(|c| c == mark) {
                break;
            }
        }
        return Some(length);
    }
    if mark != '`' {
        // Taken whole: each of them would count the rest of the run again.
        return Some(run);
    }
    let mut from = run;
    while let Some(at) = text[from..].find('`') {
        let start = from + at;
        let length = text[start..].len() - text[start..].trim_start_matches('`').len();
        if length == run {
            return Some(start + length);
        }
        from = start + length;
    }
    // A run that nothing closes is text.
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(post: &str, expected: &[&str]) {
        assert_eq!(tags(post), expected, "{post:?}");
    }

    #[test]
    fn a_tag_begins_a_word_and_ends_before_punctuation() {
        check("@bob", &["bob"]);
        check(
            "Hello @bob, @ada-2! (@user) and @carl.",
            &["bob", "ada-2", "user", "carl"],
        );
        check("@bob's turn, @ada’s too", &["bob", "ada"]);
        check("@bob: see\n@ada;@carl?", &["bob", "ada", "carl"]);
        check(
            "**@bob** _@ada_ *@carl*, \"@dora\"",
            &["bob", "ada", "carl", "dora"],
        );
        check("@bob/@ada and -@carl-", &["bob", "ada", "carl"]);
        check("…@bob…@ada。@carl", &["bob", "ada", "carl"]);
        check("no one", &[]);
    }

    #[test]
    fn a_name_is_said_once_whatever_its_case() {
        check("@Bob @bob @BOB @ada @bob", &["Bob", "ada"]);
    }

    #[test]
    fn addresses_urls_packages_and_times_are_no_tags() {
        check("mail bob@example.com or b+x@bob.org", &[]);
        check("<bob@example.com>", &[]);
        check("foo_@example.com first.@last.org", &[]);
        check("https://medium.com/@bob/post and http://x/?a=@ada", &[]);
        check("npm i @types/node @scope/pkg@1.2", &[]);
        check("@bob@social.example", &[]);
        check("@example.com", &[]);
        check("at @5pm, @ home, @, @@bob, a@b", &[]);
        check("\\@bob", &[]);
        check("https://x.org/ @bob", &["bob"]);
    }

    #[test]
    fn code_holds_no_tag() {
        check("use `@bob` and ``a `@ada` b`` but @carl", &["carl"]);
        check("```python\n@property\ndef f(): pass\n```\n@bob", &["bob"]);
        check("~~~\n@one\n```\n@two\n~~~\n@bob", &["bob"]);
        check("a\n  ```\n@one\n  ```\n@bob", &["bob"]);
        check("```\n@never closed", &[]);
        check("a ` alone, @bob", &["bob"]);
        check("`one\n@two` @bob", &["bob"]);
    }

    #[test]
    fn names_keep_what_they_are_made_of() {
        check("@bob_ @bob-", &["bob"]);
        check("@böb @ada_1", &["böb", "ada_1"]);
        check("@here @everyone", &["here", "everyone"]);
    }
}
