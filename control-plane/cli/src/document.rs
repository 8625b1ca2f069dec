//! The operator's document: files read and joined, sent as JSON, problems told with their lines.

mod environment;
mod json_lines;
mod source;
mod toml_lines;
mod written;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use self::source::{Lines, Source};
pub(crate) use self::written::to_toml;
use crate::api::Client;
use crate::error::Failure;

/// A large document takes a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// One document, of one file or several.
#[derive(Debug)]
pub(crate) struct Document {
    sources: Vec<Source>,
    body: Value,
    /// For each kind, the file of each object and its index in that file.
    origins: Map<String, Value>,
}

impl Document {
    /// Reads files (`-` is stdin), joins their lists, and takes secret values
    /// from the environment where the files say so.
    ///
    /// # Errors
    /// When one can't be read, they name different organisations, or variables
    /// are missing: all at once, with their lines.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, Failure> {
        let sources = files
            .iter()
            .map(|file| Source::read(file))
            .collect::<Result<Vec<_>, _>>()?;
        let mut document = Self::join(sources)?;
        let missing = environment::fill(&mut document.body);
        if missing.is_empty() {
            return Ok(document);
        }
        let failure = Failure::usage(match missing.len() {
            1 => "a value can't be taken from the environment".to_owned(),
            count => format!("{count} values can't be taken from the environment"),
        });
        let details = document.details(&missing);
        Err(failure.with_problems(&missing).with_details(details))
    }

    /// A document in a string, for what this program brings itself.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub(crate) fn of_text(name: &str, text: &str) -> Result<Self, Failure> {
        Self::join(vec![Source::new(name, text.to_owned())?])
    }

    fn join(sources: Vec<Source>) -> Result<Self, Failure> {
        let mut body = Map::new();
        let mut origins: Map<String, Value> = Map::new();
        for (number, source) in sources.iter().enumerate() {
            for (key, value) in source.body() {
                let joined = match (body.get_mut(key), value) {
                    (Some(Value::Array(list)), Value::Array(more)) => {
                        list.extend(more.iter().cloned());
                        true
                    }
                    (Some(there), value) => *there == *value,
                    (None, value) => {
                        body.insert(key.clone(), value.clone());
                        true
                    }
                };
                if !joined {
                    return Err(Failure::usage(format!(
                        "{}: `{key}` is another than in the files before",
                        source.lines().place(key)
                    )));
                }
                let count = value.as_array().map_or(0, Vec::len);
                let origins = origins
                    .entry(key.clone())
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(origins) = origins {
                    origins.extend((0..count).map(|index| serde_json::json!([number, index])));
                }
            }
        }
        Ok(Self {
            sources,
            body: Value::Object(body),
            origins,
        })
    }

    /// The whole as the API takes it.
    pub(crate) fn body(&self) -> &Value {
        &self.body
    }

    /// Applies it, or says what that would change.
    ///
    /// # Errors
    /// As the API answers; a refused document's problems with file and line.
    pub(crate) async fn send(&self, client: &Client, dry_run: bool) -> Result<Value, Failure> {
        let sent = send(client, &self.body, dry_run).await;
        sent.map_err(|failure| {
            if failure.is_open() && !dry_run {
                return failure.and("`guilds diff` tells");
            }
            self.with_lines(failure)
        })
    }

    /// The failure with each problem's file and line, for people.
    fn with_lines(&self, failure: Failure) -> Failure {
        let problems: Vec<_> = failure
            .problems()
            .into_iter()
            .map(|problem| (problem.path, problem.message))
            .collect();
        let details = self.details(&problems);
        failure.with_details(details)
    }

    /// Problems as `file:line: path: message`, in the order of files and lines;
    /// the path is the file's own.
    fn details(&self, problems: &[(String, String)]) -> Vec<String> {
        let lines: Vec<_> = self.sources.iter().map(Source::lines).collect();
        let mut placed: Vec<_> = problems
            .iter()
            .map(|(path, message)| {
                let message = self.placed(message, &lines);
                let (number, path) = self.origin(path);
                let Some(source) = lines.get(number) else {
                    return (number, 0, format!("{path}: {message}"));
                };
                let line = source.line(&path);
                let place = source.place(&path);
                let text = match path.as_str() {
                    "" => format!("{place}: {message}"),
                    path => format!("{place}: {path}: {message}"),
                };
                (number, line.unwrap_or(0), text)
            })
            .collect();
        placed.sort_by_key(|(number, line, _)| (*number, *line));
        placed.into_iter().map(|(.., text)| text).collect()
    }

    /// A message with the file and line of each object that it names by its path.
    fn placed(&self, message: &str, lines: &[Lines<'_>]) -> String {
        let words = message.split(' ').map(|word| {
            let path = word.trim_end_matches([',', ';', '.', ':']);
            let place = self.moved(path).and_then(|(number, path)| {
                let rest = &word[word.trim_end_matches([',', ';', '.', ':']).len()..];
                Some(format!("{}{rest}", lines.get(number)?.place(&path)))
            });
            place.unwrap_or_else(|| word.to_owned())
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// The number of the file that a path of the joined document comes from, and the path there.
    fn origin(&self, path: &str) -> (usize, String) {
        self.moved(path).unwrap_or_else(|| {
            let key = path.split(['.', '[']).next().unwrap_or_default();
            let number = self
                .sources
                .iter()
                .position(|source| source.body().contains_key(key));
            (number.unwrap_or(0), path.to_owned())
        })
    }

    /// The same, for a path into an object of a list.
    fn moved(&self, path: &str) -> Option<(usize, String)> {
        let (kind, rest) = path.split_once('[')?;
        let (index, rest) = rest.split_once(']')?;
        let index: usize = index.parse().ok()?;
        let origin = self.origins.get(kind)?.get(index)?;
        let number = usize::try_from(origin.get(0)?.as_u64()?).ok()?;
        let own = origin.get(1)?.as_u64()?;
        Some((number, format!("{kind}[{own}]{rest}")))
    }
}

/// `POST /v1/operator/apply`.
///
/// # Errors
/// As the API answers.
pub(crate) async fn send(client: &Client, body: &Value, dry_run: bool) -> Result<Value, Failure> {
    let path = format!("/v1/operator/apply?dry_run={dry_run}");
    client.post(&path, body, PATIENCE).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIRST: &str = "organisation = \"acme\"\n\n[[agents]]\nid = \"ada\"\n";
    const SECOND: &str = "[[agents]]\nid = \"bob\"\nslot = 200\n";

    fn document() -> Document {
        Document::join(vec![
            Source::new("one.toml", FIRST.to_owned()).unwrap(),
            Source::new("two.toml", SECOND.to_owned()).unwrap(),
        ])
        .unwrap()
    }

    #[test]
    fn files_are_joined() {
        assert_eq!(
            document().body(),
            &json!({"organisation": "acme", "agents": [{"id": "ada"}, {"id": "bob", "slot": 200}]})
        );
    }

    #[test]
    fn a_problem_is_told_with_its_own_file_path_and_line() {
        let body = json!({"error": {
            "code": "document_rejected",
            "message": "3 problems",
            "problems": [
                {"path": "agents[1].slot", "message": "200 is over 99"},
                {"path": "organisation", "message": "is another's"},
                {"path": "", "message": "holds nothing"},
                {"path": "agents[1].id", "message": "bob stands at agents[0], and at nodes[0] already"},
            ],
        }});
        let failure = document().with_lines(Failure::answered(422, &body));
        assert_eq!(
            failure.details(),
            [
                "one.toml: holds nothing",
                "one.toml:1: organisation: is another's",
                "two.toml:2: agents[0].id: bob stands at one.toml:3, and at nodes[0] already",
                "two.toml:3: agents[0].slot: 200 is over 99",
            ]
        );
    }

    #[test]
    fn two_organisations_are_refused() {
        let failure = Document::join(vec![
            Source::new("one.toml", FIRST.to_owned()).unwrap(),
            Source::new("two.json", "{\n \"organisation\": \"other\"}".to_owned()).unwrap(),
        ])
        .unwrap_err();
        assert_eq!(
            failure.message(),
            "two.json:2: `organisation` is another than in the files before"
        );
    }
}
