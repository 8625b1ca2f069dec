//! Every error of the command line: what is typed, what stderr says, how it exits; stdout stays empty.
//!
//! `tests/transcripts/*.txt` hold them. `#` lines say why, `@ NAME` opens a file
//! whose lines follow after `| `, `$` is what is typed, `<` a line of its stdin,
//! then comes the exit code, then stderr, each line after `2> `.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use tests::shared::repository;
use tests::{Stack, spawn};

use super::{Guilds, Said};

/// One thing that is typed and what comes of it.
#[derive(Debug, Default)]
struct Transcript {
    place: String,
    variables: Vec<(String, String)>,
    words: Vec<String>,
    input: String,
    code: i32,
    stderr: String,
}

#[derive(Debug, Default)]
struct Transcripts {
    files: BTreeMap<String, String>,
    all: Vec<Transcript>,
}

impl Transcripts {
    fn read(&mut self, name: &str, text: &str) -> Result<()> {
        let mut file = String::new();
        for (index, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", index + 1);
            let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
            match mark {
                "" | "#" | "# " => {}
                "@ " => {
                    file = rest.to_owned();
                    let twice = self.files.insert(file.clone(), String::new());
                    ensure!(twice.is_none(), "{place}: {rest} a second time");
                }
                "|" | "| " => {
                    let text = self.files.get_mut(&file).with_context(|| place.clone())?;
                    text.push_str(rest);
                    text.push('\n');
                }
                "$ " => {
                    let mut transcript = Transcript {
                        place,
                        code: -1,
                        ..Transcript::default()
                    };
                    for word in words(rest) {
                        match word.split_once('=') {
                            Some((variable, value)) if transcript.words.is_empty() => {
                                let value = value.to_owned();
                                transcript.variables.push((variable.to_owned(), value));
                            }
                            _ => transcript.words.push(word),
                        }
                    }
                    ensure!(
                        transcript
                            .words
                            .first()
                            .is_some_and(|word| word == "guilds")
                    );
                    transcript.words.remove(0);
                    self.all.push(transcript);
                }
                _ => {
                    let transcript = self.all.last_mut().with_context(|| place.clone())?;
                    match (mark, line.strip_prefix("2>")) {
                        ("< ", _) => transcript.input.push_str(&format!("{rest}\n")),
                        (_, Some(said)) => {
                            let said = said.strip_prefix(' ').unwrap_or(said);
                            transcript.stderr.push_str(&format!("{said}\n"));
                        }
                        _ => transcript.code = line.parse().with_context(|| place.clone())?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Words of a line; single quotes keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[tokio::test]
async fn every_error_says_what_its_transcript_says() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let folder = repository().join("tests/transcripts");
    let mut transcripts = Transcripts::default();
    let mut names: Vec<_> = std::fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    names.sort();
    for path in names {
        let name = path.file_name().context("a name")?.to_string_lossy();
        transcripts.read(&name, &std::fs::read_to_string(&path)?)?;
    }
    ensure!(
        transcripts.all.len() >= 60,
        "{} transcripts",
        transcripts.all.len()
    );
    let place = stack.directory.path();
    let known = [
        ("{ada}", stack.ada.id.as_str()),
        ("{bob}", stack.bob.id.as_str()),
        ("{address}", stack.control_plane.address()),
        ("{backend}", stack.shared.backend_token.as_str()),
        ("{operator}", stack.shared.operator_token.as_str()),
    ];
    let fill = |text: &str| {
        known.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    };
    for (name, text) in &transcripts.files {
        std::fs::write(place.join(name), fill(text))?;
    }
    let mut wrong = Vec::new();
    for transcript in &transcripts.all {
        let typed: Vec<_> = transcript.words.iter().map(|word| fill(word)).collect();
        let mut command = guilds.command(&typed);
        command.current_dir(place);
        for (name, value) in &transcript.variables {
            if value.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, fill(value));
            }
        }
        let said = Said::of(spawn::output_with_input(
            &mut command,
            transcript.input.as_bytes(),
        )?)?;
        let wanted = Said {
            code: Some(transcript.code),
            stdout: String::new(),
            stderr: fill(&transcript.stderr),
        };
        if said != wanted {
            let typed = typed.join(" ");
            wrong.push(format!(
                "{}: guilds {typed}\nwanted {wanted:#?}\nsaid {said:#?}",
                transcript.place
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        transcripts.all.len(),
        wrong.join("\n\n")
    );
    Ok(())
}
