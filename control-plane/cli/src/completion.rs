//! What could stand at the end of a command line: verbs, options, and names that the control plane knows.

mod names;

use std::time::Duration;

use clap::builder::ValueHint;
use clap::{Arg, Args, Command, CommandFactory};

use self::names::Names;
use crate::Line;
use crate::error::{Exit, Failure};
use crate::output;

/// The verb that the shells' scripts call.
pub(crate) const VERB: &str = "__complete";
/// Tells a script to offer files.
const FILES: &str = ":files";
/// A person waits for the key to answer.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The words so far; the last one is not finished.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Prints a candidate a line. What goes wrong leaves it empty: a shell is no
/// place for reasons.
///
/// # Errors
/// None but a reader that is gone.
pub(crate) async fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let root = Line::command();
    let place = find(&root, &arguments.words);
    let last = arguments.words.last().map_or("", String::as_str);
    let mut found = place.fixed;
    if let Some(names) = place.names {
        let asked = tokio::time::timeout(PATIENCE, names.read()).await;
        found.extend(asked.unwrap_or_default());
    }
    let lines: String = found
        .iter()
        .filter(|name| name.as_str() == FILES || name.starts_with(last))
        .filter(|name| !name.chars().any(crate::text::is_hidden))
        .map(|name| format!("{name}\n"))
        .collect();
    output::payload(&lines)?;
    Ok(Exit::Done)
}

/// What can stand in the last word's place.
#[derive(Debug, Default)]
struct Place {
    fixed: Vec<String>,
    /// Whose names are to be asked for.
    names: Option<Names>,
}

/// Follows the words through the verbs to the last one's place.
fn find(root: &Command, words: &[String]) -> Place {
    let Some((last, before)) = words.split_last() else {
        return Place::default();
    };
    let mut command = root;
    let mut path: Vec<&str> = Vec::new();
    let mut positionals: Vec<&str> = Vec::new();
    let mut options: Vec<(&str, &str)> = Vec::new();
    let mut waiting: Option<&Arg> = None;
    for word in before {
        if let Some(arg) = waiting.take() {
            options.push((arg.get_id().as_str(), word));
            continue;
        }
        if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            let arg = options_of(root, command).find(|arg| arg.get_long() == Some(name));
            match (arg, value) {
                (Some(arg), Some(value)) => options.push((arg.get_id().as_str(), value)),
                (Some(arg), None) if takes_value(arg) => waiting = Some(arg),
                _ => {}
            }
        } else if let Some(short) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) {
            let arg = options_of(root, command).find(|arg| arg.get_short() == Some(short));
            waiting = arg.filter(|arg| takes_value(arg) && word.chars().count() == 2);
        } else if let Some(next) = command.find_subcommand(word) {
            command = next;
            path.push(next.get_name());
        } else {
            positionals.push(word);
        }
    }
    if let Some(arg) = waiting {
        return values(arg, &path, &positionals, &options, "");
    }
    if last.starts_with('-') {
        return option(root, command, last, &path, &positionals, &options);
    }
    let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<_> = visible.map(|verb| verb.get_name().to_owned()).collect();
    if !verbs.is_empty() && positionals.is_empty() {
        return Place {
            fixed: verbs,
            names: None,
        };
    }
    let all: Vec<_> = command.get_positionals().collect();
    let arg = all
        .get(positionals.len())
        .or(all.last().filter(|arg| repeats(arg)));
    arg.map_or_else(Place::default, |arg| {
        values(arg, &path, &positionals, &options, "")
    })
}

/// An option's name, or its value after `=`.
fn option(
    root: &Command,
    command: &Command,
    last: &str,
    path: &[&str],
    positionals: &[&str],
    options: &[(&str, &str)],
) -> Place {
    if let Some((name, _)) = last.split_once('=') {
        let long = name.trim_start_matches('-');
        let arg = options_of(root, command).find(|arg| arg.get_long() == Some(long));
        return arg.map_or_else(Place::default, |arg| {
            values(arg, path, positionals, options, &format!("{name}="))
        });
    }
    let fixed = options_of(root, command)
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .chain(["--help".to_owned()])
        .collect();
    Place { fixed, names: None }
}

/// A command's options, and those of every command.
fn options_of<'a>(root: &'a Command, command: &'a Command) -> impl Iterator<Item = &'a Arg> {
    command
        .get_opts()
        .chain(root.get_opts())
        .filter(|arg| arg.get_long().is_some())
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn repeats(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|range| range.max_values() > 1)
}

/// What an argument can be, each with `prefix` before it.
fn values(
    arg: &Arg,
    path: &[&str],
    positionals: &[&str],
    options: &[(&str, &str)],
    prefix: &str,
) -> Place {
    let possible: Vec<_> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("{prefix}{}", value.get_name()))
        .collect();
    if !possible.is_empty() {
        return Place {
            fixed: possible,
            names: None,
        };
    }
    let is_path = matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
    );
    if is_path || arg.get_value_parser().type_id() == std::any::TypeId::of::<std::path::PathBuf>() {
        return Place {
            fixed: vec![FILES.to_owned()],
            names: None,
        };
    }
    Place {
        fixed: Vec::new(),
        names: Names::of(arg.get_id().as_str(), path, positionals, options)
            .map(|names| names.after(prefix)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(words: &[&str]) -> Place {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        find(&Line::command(), &words)
    }

    fn fixed(words: &[&str]) -> Vec<String> {
        place(words).fixed
    }

    #[test]
    fn verbs_options_and_words_are_known_here() {
        assert!(fixed(&[""]).contains(&"apply".to_owned()));
        assert!(fixed(&["-o", "json", ""]).contains(&"apply".to_owned()));
        assert!(!fixed(&[""]).contains(&"launch".to_owned()));
        assert_eq!(fixed(&["machine", ""]), ["list", "show", "rm"]);
        assert_eq!(fixed(&["-o", ""]), ["table", "json"]);
        assert_eq!(fixed(&["run", "list", "--state", ""]), ["open", "ended"]);
        assert_eq!(fixed(&["--output="]), ["--output=table", "--output=json"]);
        assert_eq!(fixed(&["completion", ""]), ["bash", "zsh", "fish"]);
        assert_eq!(fixed(&["apply", "-f", ""]), [":files"]);
        assert_eq!(
            fixed(&["apply", "--"]),
            ["--file", "--dry-run", "--output", "--help"]
        );
    }

    #[test]
    fn names_are_asked_of_the_control_plane() {
        let asked = |words: &[&str]| place(words).names.map(|names| names.to_string());
        assert_eq!(asked(&["agent", "show", ""]).as_deref(), Some("agents.id"));
        assert_eq!(
            asked(&["secret", "rm", ""]).as_deref(),
            Some("secrets.name")
        );
        assert_eq!(
            asked(&["note", "history", ""]).as_deref(),
            Some("notes.path")
        );
        assert_eq!(
            asked(&["secret", "grant", "KEY", ""]).as_deref(),
            Some("agents.id")
        );
        assert_eq!(
            asked(&["secret", "revoke", "KEY", ""]).as_deref(),
            Some("holders of KEY")
        );
        assert_eq!(
            asked(&["call", "--agent", ""]).as_deref(),
            Some("agents.id")
        );
        assert_eq!(asked(&["call", "--agent="]).as_deref(), Some("agents.id"));
        assert_eq!(
            asked(&["record", "list", ""]).as_deref(),
            Some("collections.name")
        );
        assert_eq!(asked(&["run", "show", ""]).as_deref(), Some("runs.run"));
        assert_eq!(
            asked(&["call", "--agent", "ada", ""]).as_deref(),
            Some("tools of ada")
        );
        assert_eq!(asked(&["why", "ada", ""]).as_deref(), Some("tools of ada"));
        assert_eq!(
            asked(&["script", "show", "ada", ""]).as_deref(),
            Some("scripts of ada")
        );
        assert_eq!(
            asked(&["secret", "deny", ""]).as_deref(),
            Some("secret-requests.id")
        );
    }
}
