//! Claims that hold for every tool of the list.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use machine_agent_api::Kind;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::validation::validate;
use super::*;

/// Checks what a machine tool asks of the machine.
#[track_caller]
pub(super) fn check_machine_call<A: DeserializeOwned>(
    call: fn(&A) -> Result<MachineCall, ToolError>,
    arguments: &str,
    (kind, verb, limit_ms): (Kind, &str, u64),
    wire: &str,
) {
    let call = call(&serde_json::from_str(arguments).unwrap()).unwrap();
    assert_eq!(
        (call.kind, call.verb, call.request.limit_ms),
        (kind, verb, limit_ms)
    );
    assert_eq!(call.request.arguments.get(), wire);
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn source_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools")
}

#[test]
fn a_tools_name_is_its_files_and_every_file_with_a_tool_is_listed() {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(source_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The parts of a module that is no tool.
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("\nimpl Tool for ") {
            files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    let names: BTreeSet<String> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    assert_eq!(files, names);
    assert_eq!(names.len(), TOOLS.len(), "a name twice");
    assert!(
        TOOLS.is_sorted_by(|a, b| a.name < b.name),
        "the list is in order"
    );
}

#[test]
fn every_schema_accepts_its_example_and_refuses_a_stray_field() {
    for tool in TOOLS {
        assert_eq!(
            validate(tool.schema, &raw(tool.example)),
            Ok(()),
            "{}",
            tool.name
        );
        let mut stray: Value = serde_json::from_str(tool.example).unwrap();
        stray["stray_field"] = Value::Bool(true);
        let line = validate(tool.schema, &raw(&stray.to_string())).unwrap_err();
        assert!(
            line.contains("\"stray_field\" is not a key of this tool"),
            "{line}"
        );
    }
}

#[test]
fn every_tools_type_reads_its_example() {
    for tool in TOOLS {
        assert_eq!((tool.reads)(&raw(tool.example)), Ok(()), "{}", tool.name);
        assert!((tool.reads)(&raw("7")).is_err(), "{}", tool.name);
    }
}

#[test]
fn every_schema_is_a_valid_one_of_a_closed_object_with_words_for_every_key() {
    for tool in TOOLS {
        let schema: Value = serde_json::from_str(tool.schema).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        for (key, property) in schema["properties"].as_object().unwrap() {
            let words = property["description"].as_str().unwrap_or_default();
            assert!(words.ends_with('.'), "{} {key}", tool.name);
        }
    }
}

#[test]
fn every_tool_says_what_it_does() {
    for tool in TOOLS {
        assert!(tool.description.len() > 80, "{}", tool.name);
        assert!(tool.description.ends_with('.'), "{}", tool.name);
    }
}

/// Every word of the product's own that a model reads is committed in one file,
/// so that a changed word is a reviewed change.
#[test]
fn the_catalogue_holds_every_word_a_model_reads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tools.md");
    let made = catalogue();
    if std::env::var_os("RENEW_CATALOGUE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "docs/tools.md differs from the tools; renew it with\n  RENEW_CATALOGUE=1 cargo test -p guilds-control-plane --lib catalogue\nand read the difference"
    );
}

fn catalogue() -> String {
    let mut text = String::from(
        "# Tools\n\nEvery tool that a run can offer, in the words a model reads: its description and the schema of\nits arguments as it is offered. This file is made from the tools; a test holds the two equal.\n",
    );
    for tool in TOOLS {
        let offered = match tool.offered {
            Offered::Always => "in every run".to_owned(),
            Offered::Binding(family) => format!("by the binding `{}`", family.as_str()),
            Offered::Flag(flag) => format!("by the flag `{}`", flag_word(flag)),
            Offered::FlagAndBinding(flag, family) => format!(
                "by the flag `{}` and the binding `{}`",
                flag_word(flag),
                family.as_str()
            ),
        };
        let schema: Value =
            serde_json::from_str(crate::run::schema::rewrite(tool.schema).get()).unwrap();
        let _ = write!(
            text,
            "\n## {}\n\nOffered {offered}. Output filter: `{}`.\n\n{}\n\n```json\n{}\n```\n\nExample:\n\n```json\n{}\n```\n",
            tool.name,
            tool.filter.as_str(),
            tool.description,
            serde_json::to_string_pretty(&schema).unwrap(),
            tool.example,
        );
    }
    text
}

fn flag_word(flag: Flag) -> &'static str {
    match flag {
        Flag::Browser => "browser",
        Flag::Coding => "coding",
        Flag::Scripting => "scripting",
        Flag::Memory => "memory",
    }
}
