//! What a snapshot prints.

use std::fs;

use std::collections::{BTreeMap, BTreeSet};

use guilds_browser::Session;
use serde_json::json;

use crate::stage::Stage;

const INTERACTIVE: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "gridcell",
    "link",
    "listbox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "scrollbar",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
];

#[test]
fn a_tree_names_roles_states_values_and_targets() {
    let stage = Stage::at("/tree.html");
    let expected = format!(
        "url: {}\ntitle: Tree & co\n\n{}",
        stage.url("/tree.html"),
        r##"- heading "Shop" [level=1]
- navigation "Main":
  - list:
    - listitem:
      - link "Alpha":
        - /url: /a
    - listitem:
      - link "B icon Beta":
        - /url: /b
        - img "B icon"
- paragraph: Some bold text.
- text: Name
- textbox "Name": Ada
- textbox "Password": ••••••
- textbox "Mail"
- checkbox "Agree" [checked]
- text: Agree
- combobox "Colour": Green
  - option "Red"
  - option "Green" [selected]
- button "Menu" [expanded] [pressed]
- button "Off" [disabled]
- button "Twice" [nth=0]
- button "Twice" [nth=1]
- button [target=button:nth-of-type(5)]:
  - img
- generic [target=div:nth-of-type(1)]: Card
- generic [target=#trash]
- button "Behind" [include-hidden] [target=div:nth-of-type(2) > button]
- button "Inside"
- text: zerowidth broken � char"##
    );
    assert_eq!(stage.snapshot(), expected);
}

#[test]
fn frames_are_stitched_in_from_any_process() {
    let stage = Stage::at("/frames.html");
    let expected = format!(
        "url: {}\ntitle: Frames\n\n{}",
        stage.url("/frames.html"),
        r#"- heading "Outer" [level=1]
- button "OK" [nth=0]
- iframe "Same origin":
  - button "OK" [nth=1]
  - button "Only same"
- text: space
- iframe "Cross site":
  - paragraph: Nested host
  - iframe "Innermost":
    - button "OK" [nth=2]
    - button "Only nested""#
    );
    assert_eq!(stage.snapshot(), expected);
}

#[test]
fn a_large_tree_is_cut_at_a_node_and_whole_on_disk() {
    let stage = Stage::at("/big");
    let text = stage.snapshot();
    assert!(text.len() <= 49_152, "{}", text.len());
    let last = text.lines().last().unwrap();
    assert!(
        last.ends_with(
            " of 15001 nodes left out; the whole tree is in snapshots/latest.yaml in the home]"
        ),
        "{last}"
    );
    let whole = fs::read_to_string(stage.home().join("snapshots/latest.yaml")).unwrap();
    assert_eq!(whole.lines().count(), 15_004);
    assert!(whole.contains("- link \"Row 4999\":"));
    let small = stage.call(
        "snapshot",
        &json!({"arguments": {}, "max_output_bytes": 4096}),
    );
    assert!(small["output"].as_str().unwrap().len() <= 4096);
}

#[test]
fn twenty_thousand_nameless_nodes_have_a_target_each() {
    let stage = Stage::at("/nameless");
    stage.snapshot();
    let whole = fs::read_to_string(stage.home().join("snapshots/latest.yaml")).unwrap();
    assert_eq!(whole.matches("- generic [target=").count(), 20_000);
    let last = whole.lines().last().unwrap().trim_start();
    assert_eq!(
        last,
        "- generic [target=html > body > p:nth-of-type(1000) > i:nth-of-type(20)]"
    );
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let stage = Stage::at("/odd.html");
    let text = stage.snapshot();
    for secret in ["hunter2", "hunter3", "123456", "4111"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for line in [
        "- textbox \"P\": ••••••",
        "- textbox \"Secret\": ••••••",
        "- textbox \"Code\": ••••••",
        "- textbox \"Card\": ••••••",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
}

/// The target that a reader builds from a line of a tree, as `docs/browser.md` says; none for a line that offers none.
fn target(line: &str) -> Option<String> {
    let node = line.trim_start().strip_prefix("- ")?;
    if let Some((_, rest)) = node.split_once("[target=") {
        let end = rest.rfind("]:").or(rest.rfind(']'))?;
        return Some(rest[..end].to_owned());
    }
    let (role, rest) = node.split_once(' ')?;
    if !INTERACTIVE.contains(&role) || !rest.starts_with('"') {
        return None;
    }
    let mut end = 1;
    let bytes = rest.as_bytes();
    while bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let (name, states) = rest.split_at(end + 1);
    let place = states
        .strip_prefix(" [nth=")
        .and_then(|rest| rest.split_once(']'))
        .map(|(place, _)| format!(" >> nth={place}"));
    Some(format!(
        "role={role}[name={name}]{}",
        place.unwrap_or_default()
    ))
}

#[test]
fn a_line_names_its_target() {
    let check = |line: &str, expected: Option<&str>| {
        assert_eq!(target(line).as_deref(), expected, "{line}");
    };
    check("  - button \"Buy\"", Some("role=button[name=\"Buy\"]"));
    check(
        "- link \"a \\\" [nth=2] \\\\\" [nth=1] [disabled]:",
        Some("role=link[name=\"a \\\" [nth=2] \\\\\"] >> nth=1"),
    );
    check(
        "- button [include-hidden] [target=#a > b]: x",
        Some("#a > b"),
    );
    check("- heading \"Title\" [level=1]", None);
    check("- text: button", None);
}

#[test]
fn every_target_a_reader_can_build_from_a_tree_means_one_element_of_its_own() {
    let stage = Stage::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut wrong = Vec::new();
    for page in [
        "tree.html",
        "names.html",
        "odd.html",
        "oracle/roles.html",
        "oracle/labels.html",
        "oracle/states.html",
        "oracle/shadow.html",
        "oracle/text.html",
        "oracle/frames.html",
        "frames.html",
    ] {
        stage.output("navigate", json!({"url": stage.url(&format!("/{page}"))}));
        stage.snapshot();
        let tree = fs::read_to_string(stage.home().join("snapshots/latest.yaml")).unwrap();
        let targets: Vec<String> = tree.lines().filter_map(target).collect();
        let roles: Vec<String> = INTERACTIVE
            .iter()
            .filter(|role| **role != "gridcell")
            .map(|role| format!("role={role}"))
            .collect();
        let (found, all) = runtime.block_on(async {
            let mut session = Session::connect(stage.port, stage.home()).await.unwrap();
            session.open_tab(false).await.unwrap();
            (
                session.matching(&targets, 0).await.unwrap(),
                session.matching(&roles, 0).await.unwrap(),
            )
        });
        let mut meant = BTreeMap::new();
        for (target, found) in targets.iter().zip(found) {
            match found.map(|found| found.places) {
                Ok(places) if places.len() == 1 => {
                    if let Some(other) = meant.insert(places[0], target) {
                        wrong.push(format!("{page}: {target} and {other} are one element"));
                    }
                }
                other => wrong.push(format!("{page}: {target} finds {other:?}")),
            }
        }
        let meant: BTreeSet<_> = meant.into_keys().collect();
        for (role, found) in roles.iter().zip(all) {
            let found = found.unwrap();
            for (place, name) in found.places.iter().zip(&found.names) {
                if !meant.contains(place) {
                    wrong.push(format!(
                        "{page}: {role} {name} at {place:?} is not in the tree"
                    ));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
