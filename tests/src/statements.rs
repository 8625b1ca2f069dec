//! The statements that a PostgreSQL server logged, with their parameters.

/// A statement with its parameters as text, `None` for NULL.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Its text, white space joined.
    pub sql: String,
    /// Values of `$1`, `$2` …
    pub parameters: Vec<Option<String>>,
}

/// Statements of a server's log, without those that only begin and end transactions.
///
/// An entry begins with a time, its later lines with a tab (PostgreSQL's
/// `log_statement` with the extended protocol: `execute NAME: SQL`, then a
/// `DETAIL:  parameters:` line).
#[must_use]
pub fn parse_log(log: &str) -> Vec<Statement> {
    let mut found: Vec<Statement> = Vec::new();
    for entry in log.replace("\n\t", " ").lines() {
        if let Some((_, parameters)) = entry.split_once("DETAIL:  parameters: ") {
            if let Some(last) = found.last_mut() {
                last.parameters = parse_parameters(parameters);
            }
        } else if let Some((_, rest)) = entry.split_once("LOG:  execute ")
            && let Some((_, sql)) = rest.split_once(": ")
        {
            found.push(Statement {
                sql: sql.split_whitespace().collect::<Vec<_>>().join(" "),
                parameters: Vec::new(),
            });
        }
    }
    found.retain(|statement| {
        let first = statement.sql.split([' ', ';']).next().unwrap_or_default();
        !["BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SET", "ROLLBACK"].contains(&first)
    });
    found
}

/// `$1 = 'it''s', $2 = NULL`
fn parse_parameters(text: &str) -> Vec<Option<String>> {
    let mut parameters = Vec::new();
    let mut rest = text;
    while let Some((_, value)) = rest.split_once(" = ") {
        let Some(quoted) = value.strip_prefix('\'') else {
            parameters.push(None);
            rest = value.split_once(", ").map_or("", |(_, rest)| rest);
            continue;
        };
        let mut content = String::new();
        let mut characters = quoted.char_indices().peekable();
        rest = "";
        while let Some((index, character)) = characters.next() {
            if character != '\'' {
                content.push(character);
            } else if characters.next_if(|(_, next)| *next == '\'').is_some() {
                content.push('\'');
            } else {
                rest = &quoted[index + 1..];
                break;
            }
        }
        parameters.push(Some(content));
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_with_its_long_statements_and_their_parameters() {
        let log = "2026-11-30 16:00:00.000 UTC [7] LOG:  statement: BEGIN\n\
            2026-11-30 16:00:00.001 UTC [7] LOG:  execute sqlx_s_1: SELECT body FROM notes\n\
            \t         WHERE key = $1 AND size > $2 AND kind IS NOT DISTINCT FROM $3\n\
            2026-11-30 16:00:00.001 UTC [7] DETAIL:  parameters: $1 = 'it''s, a = b', $2 = '5', $3 = NULL\n\
            2026-11-30 16:00:00.002 UTC [7] LOG:  execute <unnamed>: COMMIT\n\
            2026-11-30 16:00:00.003 UTC [8] LOG:  execute s: SELECT 1\n";
        assert_eq!(
            parse_log(log),
            [
                Statement {
                    sql: "SELECT body FROM notes WHERE key = $1 AND size > $2 AND kind IS NOT DISTINCT FROM $3"
                        .to_owned(),
                    parameters: vec![
                        Some("it's, a = b".to_owned()),
                        Some("5".to_owned()),
                        None
                    ],
                },
                Statement {
                    sql: "SELECT 1".to_owned(),
                    parameters: Vec::new(),
                },
            ]
        );
    }
}
