//! The action corpus: pages that make trouble, and for each what a call must answer.

mod dialogs;
mod fields;
mod frameworks;
mod pages;
mod pointer;
mod readers;
mod scripts;
mod scrolls;
mod values;

use serde_json::{Map, Value, json};

use crate::stage::Stage;

/// A page and what is done to it, in order.
pub struct Case {
    pub name: &'static str,
    /// What follows the document type and the title, or a whole document.
    pub html: &'static str,
    pub steps: &'static [Step],
}

/// One call, and its answer as a literal; `{url}` is the page's address, `{site}` its site's.
pub struct Step {
    verb: &'static str,
    arguments: &'static [&'static str],
    answer: Answer,
}

enum Answer {
    Is(&'static str),
    Refused(&'static str),
    /// Each of these is a line of it.
    Has(&'static [&'static str]),
}

type Words = &'static [&'static str];

const fn does(verb: &'static str, arguments: Words, answer: &'static str) -> Step {
    Step {
        verb,
        arguments,
        answer: Answer::Is(answer),
    }
}

const fn refuses(verb: &'static str, arguments: Words, answer: &'static str) -> Step {
    Step {
        verb,
        arguments,
        answer: Answer::Refused(answer),
    }
}

const fn has(verb: &'static str, arguments: Words, lines: Words) -> Step {
    Step {
        verb,
        arguments,
        answer: Answer::Has(lines),
    }
}

const TABLES: [&[Case]; 9] = [
    pointer::CASES,
    fields::CASES,
    values::CASES,
    frameworks::CASES,
    dialogs::CASES,
    pages::CASES,
    readers::CASES,
    scrolls::CASES,
    scripts::CASES,
];

/// The document of a case, for the site.
pub fn document(name: &str) -> Option<String> {
    let case = TABLES
        .iter()
        .copied()
        .flatten()
        .find(|case| case.name == name)?;
    Some(if case.html.starts_with("<html") {
        case.html.to_owned()
    } else {
        format!("<!doctype html><title>{name}</title>{}", case.html)
    })
}

fn given(step: &Step) -> Value {
    let keys: &[&str] = match step.verb {
        "navigate" => &["url"],
        "click" => &["target"],
        "type" => &["target", "text"],
        "fill" => &["target", "value"],
        "scroll" => &["direction", "target"],
        "eval" => &["expression"],
        _ => &[],
    };
    let given: Map<String, Value> = keys
        .iter()
        .zip(step.arguments)
        .map(|(key, word)| ((*key).to_owned(), json!(word)))
        .collect();
    Value::Object(given)
}

/// What is wrong with a step's answer, if anything.
fn complaint(stage: &Stage, step: &Step, url: &str) -> Option<String> {
    let placed = |text: &str| text.replace("{url}", url).replace("{site}", &stage.url(""));
    let arguments: Value =
        serde_json::from_str(&placed(&given(step).to_string())).unwrap_or_default();
    // A short limit makes the wait for something that never comes short too.
    let limit_ms = match step.answer {
        Answer::Refused(_) => 2_000,
        _ => 20_000,
    };
    let reply = stage.call(
        step.verb,
        &json!({"arguments": arguments, "limit_ms": limit_ms}),
    );
    let (expected, told) = match step.answer {
        Answer::Is(text) => (placed(text), &reply["output"]),
        Answer::Refused(text) => (placed(text), &reply["error"]),
        Answer::Has(lines) => {
            let output = reply["output"].as_str().unwrap_or_default();
            let missing = lines
                .iter()
                .map(|line| placed(line))
                .find(|line| !output.lines().any(|one| one == line))?;
            return Some(format!("no line {missing:?} in {reply}"));
        }
    };
    (told.as_str() != Some(&expected)).then(|| format!("not {expected:?} but {reply}"))
}

fn check(cases: &[Case]) {
    let stage = Stage::new();
    let mut complaints = Vec::new();
    for case in cases {
        let url = stage.url(&format!("/case/{}", case.name));
        let opened = stage.call("navigate", &json!({"arguments": {"url": url}}));
        if !opened["output"].is_string() {
            complaints.push(format!("{}: not opened: {opened}", case.name));
            continue;
        }
        for (number, step) in case.steps.iter().enumerate() {
            if let Some(complaint) = complaint(&stage, step, &url) {
                complaints.push(format!(
                    "{}, step {} ({} {:?}): {complaint}",
                    case.name,
                    number + 1,
                    step.verb,
                    step.arguments
                ));
                break;
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{} of {} cases:\n{}",
        complaints.len(),
        cases.len(),
        complaints.join("\n")
    );
}

#[test]
fn the_corpus_is_large_and_every_case_has_a_name_of_its_own() {
    let mut names: Vec<&str> = TABLES
        .iter()
        .copied()
        .flatten()
        .map(|case| case.name)
        .collect();
    assert!(names.len() >= 80, "{}", names.len());
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
