//! A TOML table whose settings are taken one by one, each problem with its line.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// Every setting, for the question what was meant.
const SETTINGS: [&str; 13] = [
    "listen",
    "tls_cert",
    "tls_key",
    "public_url",
    "database_url",
    "database_url_file",
    "key_file",
    "secrets_key_file",
    "machine_ca",
    "machine_cert",
    "machine_key",
    "tool_result_max_bytes",
    "statement_timeout_s",
];

pub(super) struct Fields<'a> {
    text: &'a str,
    table: DeTable<'a>,
    problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut fields = Self {
            text,
            table: table.into_inner(),
            problems: Vec::new(),
        };
        for error in errors {
            let line = error.span().map(|span| fields.line(span.start));
            fields.problem(line, error.message().to_owned());
        }
        if !fields.problems.is_empty() {
            return Err(fields.finish());
        }
        let unknown: Vec<(usize, String)> = fields
            .table
            .keys()
            .filter(|key| !SETTINGS.contains(&key.get_ref().as_ref()))
            .map(|key| (fields.line(key.span().start), key.get_ref().to_string()))
            .collect();
        for (line, name) in unknown {
            let hint = match nearest(&name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("allowed are {}", SETTINGS.join(", ")),
            };
            fields.problem(Some(line), format!("`{name}` is no setting; {hint}"));
        }
        Ok(fields)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    pub(super) fn problem(&mut self, line: Option<usize>, message: String) {
        self.problems.push(Problem { line, message });
    }

    pub(super) fn finish(mut self) -> Vec<Problem> {
        // What has no line comes last.
        self.problems
            .sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        self.problems
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }

    pub(super) fn string(&mut self, name: &'static str) -> Option<(Option<usize>, String)> {
        let value = self.table.get(name)?;
        let line = Some(self.line(value.span().start));
        if let DeValue::String(text) = value.get_ref() {
            return Some((line, text.to_string()));
        }
        let found = kind(value);
        self.problem(line, format!("`{name}` is {found}; allowed is a string"));
        None
    }

    pub(super) fn integer(&mut self, name: &'static str) -> Option<(Option<usize>, i64)> {
        let value = self.table.get(name)?;
        let line = Some(self.line(value.span().start));
        if let DeValue::Integer(number) = value.get_ref()
            && let Ok(number) = i64::from_str_radix(number.as_str(), number.radix())
        {
            return Some((line, number));
        }
        let found = kind(value);
        self.problem(line, format!("`{name}` is {found}; allowed is an integer"));
        None
    }

    /// A path of a file that can be read.
    pub(super) fn file(&mut self, name: &'static str) -> Option<(Option<usize>, PathBuf)> {
        let (line, text) = self.string(name)?;
        let path = PathBuf::from(&text);
        if let Err(error) = std::fs::File::open(&path) {
            self.problem(
                line,
                format!("{text} of `{name}` could not be opened: {error}"),
            );
        }
        Some((line, path))
    }

    /// The text of a file that [`Fields::file`] found; its problem is known already.
    pub(super) fn read(&mut self, line: Option<usize>, name: &str, path: &Path) -> Option<String> {
        let mut file = std::fs::File::open(path).ok()?;
        let mut text = String::new();
        match std::io::Read::read_to_string(&mut file, &mut text) {
            Ok(_) => Some(text),
            Err(error) => {
                self.problem(
                    line,
                    format!("{} of `{name}` could not be read: {error}", path.display()),
                );
                None
            }
        }
    }
}

fn kind(value: &Spanned<DeValue<'_>>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a datetime",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// The setting that shares the longest beginning or differs in a letter or two.
fn nearest(name: &str) -> Option<&'static str> {
    SETTINGS
        .into_iter()
        .filter(|setting| {
            name.starts_with(setting) || setting.starts_with(name) || edits(name, setting) <= 2
        })
        .min_by_key(|setting| edits(name, setting))
}

fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (above + 1)
                .min(row[j] + 1)
                .min(diagonal + usize::from(x != y));
            diagonal = above;
        }
    }
    row[b.len()]
}
