//! What a snapshot prints.

use std::fs;

use serde_json::json;

use crate::stage::Stage;

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
