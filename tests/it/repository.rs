//! The rules of the repository that a test can hold: imports, layout, processes, sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tests::shared::repository;

/// Our crates with their folder and what of ours each may import. The tests may import all.
const IMPORTS: [(&str, &str, &[&str]); 9] = [
    ("machine-agent-api", "machine-agent/api", &[]),
    ("helper-protocol", "helpers/protocol", &[]),
    (
        "guilds-control-plane",
        "control-plane",
        &["machine-agent-api", "tool-result"],
    ),
    ("tool-result", "control-plane/result", &[]),
    ("guilds", "control-plane/cli", &[]),
    (
        "guilds-machine-agent",
        "machine-agent",
        &["machine-agent-api", "helper-protocol"],
    ),
    ("guilds-browser", "helpers/browser", &["helper-protocol"]),
    ("guilds-code", "helpers/code", &["helper-protocol"]),
    (
        "guilds-script-run",
        "helpers/script-run",
        &["helper-protocol"],
    ),
];

/// Modules of the control plane, and those above each that it may not name.
const ABOVE: [(&str, &[&str]); 8] = [
    ("http", &[]),
    ("operator", &["http"]),
    ("run", &["http", "operator"]),
    ("tools", &["http", "operator"]),
    ("store", &["http", "operator", "run", "machine", "tools"]),
    (
        "schedule",
        &["http", "operator", "run", "tools", "store", "machine"],
    ),
    (
        "vault",
        &["http", "operator", "run", "tools", "store", "machine"],
    ),
    ("machine", &["http", "operator", "run", "tools", "store"]),
];

struct Source {
    /// Path inside the repository.
    path: String,
    text: String,
}

impl Source {
    /// The lines before the file's own tests, without comments, numbered from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(index, line)| (index + 1, line))
    }

    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.starts_with("fuzz/")
            || self.path.ends_with("/tests.rs")
    }
}

fn files(root: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
            let path = entry?.path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.is_symlink() || name.starts_with('.') && name != ".ci" {
                continue;
            }
            if path.is_dir() {
                if name != "target" && name != "node_modules" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn sources() -> Result<Vec<Source>> {
    let root = repository();
    let sources: Vec<_> = files(&root, "rs")?
        .into_iter()
        .map(|path| {
            Ok(Source {
                text: std::fs::read_to_string(&path)?,
                path: path.strip_prefix(&root)?.to_string_lossy().into_owned(),
            })
        })
        .collect::<Result<_>>()?;
    assert!(
        sources.len() > 50,
        "only {} sources were found",
        sources.len()
    );
    Ok(sources)
}

/// Fails with every finding at once.
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

#[test]
fn each_crate_imports_of_ours_only_what_the_table_allows() -> Result<()> {
    let root = repository();
    let ours: BTreeSet<_> = IMPORTS.iter().map(|(name, ..)| *name).collect();
    let mut findings = Vec::new();
    for (name, folder, allowed) in IMPORTS {
        let text = std::fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
        let manifest: toml::Table = toml::from_str(&text)?;
        assert_eq!(manifest["package"]["name"].as_str(), Some(name), "{folder}");
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = manifest.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for (key, value) in dependencies {
                let dependency = value
                    .get("package")
                    .and_then(toml::Value::as_str)
                    .unwrap_or(key);
                if ours.contains(dependency) && !allowed.contains(&dependency) {
                    findings.push(format!("{name} has {dependency} in its {section}"));
                }
            }
        }
    }
    none("an import that the table forbids", &findings);
    let listed: BTreeSet<_> = IMPORTS
        .iter()
        .map(|(_, folder, _)| (*folder).to_owned())
        .collect();
    let workspace: toml::Table =
        toml::from_str(&std::fs::read_to_string(root.join("Cargo.toml"))?)?;
    let members: BTreeSet<_> = workspace["workspace"]["members"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|member| member.as_str().map(str::to_owned))
        .filter(|member| member != "tests")
        .collect();
    assert_eq!(members, listed, "a crate that the table doesn't know");
    Ok(())
}

#[test]
fn imports_inside_the_control_plane_go_down_only() -> Result<()> {
    let mut findings = Vec::new();
    for source in sources()? {
        let Some(inside) = source.path.strip_prefix("control-plane/src/") else {
            continue;
        };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        let above = ABOVE
            .iter()
            .find(|(name, _)| *name == module)
            .map_or(&[][..], |(_, above)| above);
        for (number, line) in source.code() {
            for forbidden in above {
                let word = format!("crate::{forbidden}");
                let named = line.match_indices(&word).any(|(at, _)| {
                    !line[at + word.len()..]
                        .starts_with(|next: char| next.is_alphanumeric() || next == '_')
                });
                if named {
                    findings.push(format!("{}:{number}: {}", source.path, line.trim()));
                }
            }
            if module != "http" && (line.contains("axum::") || line.contains("use axum")) {
                findings.push(format!(
                    "{}:{number}: only http/ knows the web framework",
                    source.path
                ));
            }
        }
    }
    none("an import that goes up", &findings);
    Ok(())
}

#[test]
fn processes_start_in_spawn_files_only_and_unsafe_is_in_sys_files_only() -> Result<()> {
    let mut findings = Vec::new();
    for source in sources()? {
        let file = source.path.rsplit('/').next().unwrap_or_default();
        for (number, line) in source.code() {
            if line.contains("Command::new(") && file != "spawn.rs" && !line.contains('"') {
                findings.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
            let words =
                line.split(|character: char| !character.is_alphanumeric() && character != '_');
            if words.clone().any(|word| word == "unsafe") && file != "sys.rs" && !line.contains('"')
            {
                findings.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    none(
        "a process started or unsafe code outside its file",
        &findings,
    );
    Ok(())
}

#[test]
fn files_are_small_open_with_a_sentence_and_have_the_names_of_nouns() -> Result<()> {
    let mut findings = Vec::new();
    for source in sources()? {
        let lines = source
            .text
            .lines()
            .take_while(|line| line.trim() != "#[cfg(test)]")
            .count();
        if lines > 500 {
            findings.push(format!(
                "{}: {lines} lines before its tests, 500 are allowed",
                source.path
            ));
        }
        let first = source.text.lines().find(|line| !line.starts_with("#!["));
        if !first.is_some_and(|line| {
            line.starts_with("//! ") && line.trim_end().ends_with(['.', ':', '?'])
        }) {
            findings.push(format!(
                "{}: opens with no `//!` sentence: {first:?}",
                source.path
            ));
        }
        let file = source.path.rsplit('/').next().unwrap_or_default();
        if ["mod.rs", "common.rs", "utils.rs", "util.rs", "misc.rs"].contains(&file) {
            findings.push(format!("{}: a name that says nothing", source.path));
        }
    }
    none("a file that breaks the layout", &findings);
    Ok(())
}

#[test]
fn nothing_is_left_for_later_and_no_test_is_skipped() -> Result<()> {
    // Put together here, so that this file doesn't hold them.
    let code = [
        format!("{}!(", "todo"),
        format!("{}!(", "unimplemented"),
        format!("#[{}", "ignore"),
    ];
    let comments = [format!("{}{}", "TO", "DO"), format!("{}{}", "FIX", "ME")];
    let mut findings = Vec::new();
    for source in sources()? {
        for (index, line) in source.text.lines().enumerate() {
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            if code.iter().any(|word| line.contains(word.as_str()))
                || comments.iter().any(|word| comment.contains(word.as_str()))
            {
                findings.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    none("left for later", &findings);
    Ok(())
}

#[test]
fn outside_tests_nothing_unwraps() -> Result<()> {
    let mut findings = Vec::new();
    for source in sources()?.iter().filter(|source| !source.is_test()) {
        for (number, line) in source.code() {
            if line.contains(".unwrap()") {
                findings.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    none("an unwrap", &findings);
    Ok(())
}

#[test]
fn every_tool_of_the_list_is_in_an_end_to_end_test() -> Result<()> {
    let list = std::fs::read_to_string(repository().join("control-plane/src/tools.rs"))?;
    let (_, list) = list.split_once("\ntools! {").context("the list of tools")?;
    let tools: Vec<_> = list
        .lines()
        .filter_map(|line| line.trim().split_once("::"))
        .map(|(name, _)| name.to_owned())
        .collect();
    assert!(tools.len() >= 15, "{tools:?}");
    let mut uses: BTreeMap<&str, usize> = tools.iter().map(|tool| (tool.as_str(), 0)).collect();
    for source in sources()?
        .iter()
        .filter(|source| source.path.starts_with("tests/it/"))
    {
        for tool in &tools {
            let called = source.text.matches(&format!("\"{tool}\"")).count();
            if let Some(count) = uses.get_mut(tool.as_str()) {
                *count += called;
            }
        }
    }
    let unused: Vec<_> = uses.into_iter().filter(|(_, count)| *count == 0).collect();
    assert!(unused.is_empty(), "no test calls {unused:?}");
    Ok(())
}

#[test]
fn scripts_parse_and_the_continuous_run_calls_the_readmes_command() -> Result<()> {
    let root = repository();
    let mut scripts = files(&root, "sh")?;
    scripts.push(root.join(".ci/run"));
    for script in scripts {
        let output =
            tests::spawn::output(tests::spawn::command("/bin/bash").arg("-n").arg(&script))?;
        assert!(output.status.success(), "{}: {output:?}", script.display());
    }
    let run = std::fs::read_to_string(root.join(".ci/run"))?;
    let readme = std::fs::read_to_string(root.join("README.md"))?;
    for text in [&run, &readme] {
        assert!(text.contains("make test"));
    }
    for file in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/tools.md",
        "docs/testing.md",
    ] {
        assert!(root.join(file).exists(), "{file} is missing");
    }
    Ok(())
}
