//! Words: how text is folded and split for a search, and what a query asks for.

/// A query as a person writes it: terms are joined by AND, `OR` widens, quotes
/// keep a phrase, `-` excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Any of these groups; in a group every term.
    pub groups: Vec<Vec<Term>>,
    /// The only token, when there is one of at least two characters: it also
    /// matches inside words.
    pub partial: Option<String>,
}

/// A word, or words in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Folded words, each between single spaces: ` inv 2024 001 `.
    pub words: String,
    /// It must not be there.
    pub excluded: bool,
}

/// Folds case the way Unicode does, character by character, so that a word folds
/// alike wherever it stands: through upper case, which also joins `ß` with `SS`.
#[must_use]
pub fn fold(text: &str) -> String {
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a character belongs to a word: letters, digits and combining accents.
#[must_use]
pub fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}')
}

/// The folded words of a text, each between single spaces; empty without any.
#[must_use]
pub fn split(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    for word in text.split(|c| !in_word(c)).filter(|word| !word.is_empty()) {
        if words.is_empty() {
            words.push(' ');
        }
        words.push_str(&fold(word));
        words.push(' ');
    }
    words
}

/// What a search of a note reads. No phrase runs from the key into the body.
#[must_use]
pub fn of_note(key: &str, body: &str) -> String {
    format!("{}\n{}", split(key), split(body))
}

/// Reads a query.
///
/// # Errors
/// One sentence when there is nothing to look for: no word, or only exclusions.
pub fn parse(text: &str) -> Result<Query, String> {
    let tokens = tokens(text);
    let mut groups: Vec<Vec<Term>> = vec![Vec::new()];
    for token in &tokens {
        match token {
            Token::Or => groups.push(Vec::new()),
            Token::Term(term) => {
                if let Some(group) = groups.last_mut() {
                    group.push(term.clone());
                }
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    if groups.iter().flatten().all(|term| term.excluded) {
        return Err(
            "the query has nothing to look for; give at least one word that is not excluded with -"
                .to_owned(),
        );
    }
    let plain = !text
        .trim()
        .contains(|c: char| c.is_whitespace() || c == '"');
    let partial = match (plain, tokens.as_slice()) {
        (true, [Token::Term(term)]) if !term.excluded => {
            let inner = term.words.trim();
            (inner.chars().count() >= 2).then(|| inner.to_owned())
        }
        _ => None,
    };
    Ok(Query { groups, partial })
}

enum Token {
    Or,
    Term(Term),
}

/// As PostgreSQL's `websearch_to_tsquery` reads it: `or` widens between two terms and is a
/// word anywhere else, and `-` excludes the next term, also after white space.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut after_term = false;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let excluded = rest.starts_with('-');
        let body = rest.strip_prefix('-').map_or(rest, str::trim_start);
        let (token, phrase, next) = match body.strip_prefix('"') {
            // A quote that nothing closes keeps the rest together.
            Some(open) => match open.split_once('"') {
                Some((inside, next)) => (inside, true, next),
                None => (open, true, ""),
            },
            None => {
                let end = body
                    .find(|c: char| c.is_whitespace() || c == '"')
                    .unwrap_or(body.len());
                (&body[..end], false, &body[end..])
            }
        };
        let next = next.trim_start();
        let widens = !phrase && !excluded && token.eq_ignore_ascii_case("or");
        if widens && after_term && !next.is_empty() {
            tokens.push(Token::Or);
            after_term = false;
        } else {
            let words = split(token);
            if !words.is_empty() {
                tokens.push(Token::Term(Term { words, excluded }));
                after_term = true;
            }
        }
        rest = next;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(words: &str) -> Term {
        Term {
            words: words.to_owned(),
            excluded: false,
        }
    }

    fn not(words: &str) -> Term {
        Term {
            excluded: true,
            ..term(words)
        }
    }

    #[track_caller]
    fn check(text: &str, groups: &[&[Term]], partial: Option<&str>) {
        let expected = Query {
            groups: groups.iter().map(|group| group.to_vec()).collect(),
            partial: partial.map(str::to_owned),
        };
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn words_are_folded_and_split_at_punctuation() {
        assert_eq!(split("INV-2024-001, Größe!"), " inv 2024 001 grösse ");
        assert_eq!(split("ΟΔΟΣ οδος"), " οδοσ οδοσ ");
        assert_eq!(split(" .,- "), "");
        assert_eq!(of_note("plan.md", "A b"), " plan md \n a b ");
    }

    #[test]
    fn terms_are_anded_and_or_widens() {
        check("red car", &[&[term(" red "), term(" car ")]], None);
        check(
            "red car OR bus",
            &[&[term(" red "), term(" car ")], &[term(" bus ")]],
            None,
        );
        // Anywhere else it is a word.
        check(
            "or red OR OR car or",
            &[
                &[term(" or "), term(" red ")],
                &[term(" or "), term(" car "), term(" or ")],
            ],
            None,
        );
    }

    #[test]
    fn quotes_keep_a_phrase_and_a_minus_excludes() {
        check(
            r#""red car" -"old bus" -x"#,
            &[&[term(" red car "), not(" old bus "), not(" x ")]],
            None,
        );
        check(r#"a "b c"#, &[&[term(" a "), term(" b c ")]], None);
        check("a - b", &[&[term(" a "), not(" b ")]], None);
        check("a OR -b", &[&[term(" a ")], &[not(" b ")]], None);
    }

    #[test]
    fn a_single_token_also_matches_inside_words() {
        check("Bob", &[&[term(" bob ")]], Some("bob"));
        check("INV-2024", &[&[term(" inv 2024 ")]], Some("inv 2024"));
        check("b", &[&[term(" b ")]], None);
        check("\"bob\"", &[&[term(" bob ")]], None);
    }

    #[test]
    fn a_query_with_nothing_to_look_for_is_refused() {
        for text in [
            "",
            "  ",
            "...",
            "-a",
            "-a -\"b c\"",
            "-a OR -b",
            "-",
            "\"\"",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
