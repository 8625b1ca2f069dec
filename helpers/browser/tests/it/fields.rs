//! What typing, filling, scrolling and scripts do to a page and what they tell.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::Stage;

fn fill(stage: &Stage, target: &str, value: &str) -> String {
    stage.output("fill", json!({"target": target, "value": value}))
}

fn typed(stage: &Stage, target: &str, text: &str) -> String {
    stage.output("type", json!({"target": target, "text": text}))
}

fn eval(stage: &Stage, expression: &str) -> String {
    stage.output("eval", json!({"expression": expression}))
}

fn not_evaluated(stage: &Stage, expression: &str) -> String {
    stage.refusal("eval", json!({"expression": expression}))
}

#[test]
fn text_goes_in_at_the_caret_by_keys_and_is_read_back() {
    let stage = Stage::at("/fields.html");
    assert_eq!(
        typed(&stage, "#name", "Ada "),
        "typed 4 characters into textbox \"Name\"\nvalue: \"Ada Lovelace\""
    );
    // It has the focus now, and the caret stands behind what was typed.
    assert_eq!(
        typed(&stage, "text=Name", "K. "),
        "typed 3 characters into textbox \"Name\"\nvalue: \"Ada K. Lovelace\""
    );
    assert_eq!(
        typed(&stage, "#comment", "Grüße 🙂 你好\n2 < 3"),
        "typed 16 characters into textbox \"Comment\"\nvalue: \"Grüße 🙂 你好\\n2 < 3\""
    );
    assert_eq!(
        typed(&stage, "#pass", "hunter2"),
        "typed 7 characters into textbox \"Pass\"\nvalue: •••••• (7 characters, not shown)"
    );
    assert_eq!(
        typed(&stage, "#q", "lamp\n"),
        "typed 5 characters into textbox \"Search\"\nvalue: \"lamp\""
    );
    assert_eq!(eval(&stage, "return sent.textContent"), "\"sent lamp\"");
    assert_eq!(
        typed(&stage, "#short", "too long"),
        "typed 8 characters into textbox \"Short\"\nvalue: \"too \"\nnote: the field does not hold the text as typed; the page or the field changed it"
    );
    assert_eq!(
        typed(&stage, "#rich", "Zero. "),
        "typed 6 characters into textbox \"Story\"\nvalue: \"Zero. One\\n\\nTwo\""
    );
    let long = "word ".repeat(400);
    let text = typed(&stage, "#comment", &long);
    assert!(
        text.starts_with("typed 2000 characters into textbox \"Comment\"\nvalue: \""),
        "{text}"
    );
    assert_eq!(eval(&stage, "return comment.value.length"), "2017");
}

#[test]
fn every_kind_of_field_is_filled_and_read_back() {
    let stage = Stage::at("/fields.html");
    for (target, value, answer) in [
        ("#name", "Ada", "filled textbox \"Name\"\nvalue: \"Ada\""),
        ("#name", "", "filled textbox \"Name\"\nvalue: \"\""),
        (
            "#comment",
            "a\r\nb",
            "filled textbox \"Comment\"\nvalue: \"a\\nb\"",
        ),
        (
            "#count",
            " 12.5 ",
            "filled spinbutton \"Count\"\nvalue: \"12.5\"\nnote: the field does not accept it: Please enter a valid value. The two nearest valid values are 12 and 13.",
        ),
        (
            "#day",
            "2026-03-01",
            "filled textbox \"Day\"\nvalue: \"2026-03-01\"",
        ),
        ("#at", "13:45", "filled textbox \"At\"\nvalue: \"13:45\""),
        (
            "#when",
            "2026-03-01T13:45",
            "filled textbox \"When\"\nvalue: \"2026-03-01T13:45\"",
        ),
        (
            "#month",
            "2026-03",
            "filled textbox \"Month\"\nvalue: \"2026-03\"",
        ),
        (
            "#week",
            "2026-W09",
            "filled textbox \"Week\"\nvalue: \"2026-W09\"",
        ),
        ("#size", "35", "filled slider \"Size\"\nvalue: \"35\""),
        (
            "#tint",
            "#1A2B3C",
            "filled textbox \"Tint\"\nvalue: \"#1a2b3c\"",
        ),
        (
            "#pass",
            "secret",
            "filled textbox \"Pass\"\nvalue: •••••• (6 characters, not shown)",
        ),
        (
            "#rich",
            "New text",
            "filled textbox \"Story\"\nvalue: \"New text\"",
        ),
        (
            "#colour",
            "g",
            "filled combobox \"Colour\"\nselected: \"Green\"",
        ),
        (
            "#colour",
            "Red",
            "filled combobox \"Colour\"\nselected: \"Red\"",
        ),
        (
            "#many",
            "One\nThree",
            "filled listbox \"Many\"\nselected: \"One\", \"Three\"",
        ),
        (
            "#short",
            "12345",
            "filled textbox \"Short\"\nvalue: \"1234\"\nnote: that is not what was asked for; the page or the field changed it",
        ),
    ] {
        assert_eq!(fill(&stage, target, value), answer, "{target}");
    }
    assert_eq!(
        eval(
            &stage,
            "return events.filter(one => /day|size|tint|colour/.test(one))"
        ),
        r#"["day:input","day:change","size:input","size:change","tint:input","tint:change","colour:input","colour:change","colour:input","colour:change"]"#
    );
}

#[test]
fn what_takes_no_value_is_refused_with_the_reason() {
    let stage = Stage::at("/fields.html");
    for (target, value, refusal) in [
        (
            "#agree",
            "true",
            "<input id=\"agree\" type=\"checkbox\"/> takes no value; browser_click switches it",
        ),
        (
            "#file",
            "a.txt",
            "<input id=\"file\" type=\"file\"/> takes files, and no tool can choose one here",
        ),
        (
            "#heard",
            "x",
            "<p id=\"heard\">ears</p> is no <input>, <textarea>, <select> or editable element",
        ),
        (
            "#fixed",
            "x",
            "#fixed can't be filled: the element is read-only (waited 2 s)",
        ),
        (
            "#count",
            "many",
            "\"many\" is no number, and <input value=\"1\" id=\"count\" type=\"number\"/> takes nothing else",
        ),
        (
            "#day",
            "1.3.2026",
            "\"1.3.2026\" is no value for <input id=\"day\" type=\"date\"/>; it takes a date such as 2026-03-01",
        ),
        (
            "#size",
            "52",
            "\"52\" is no value for <input min=\"0\" max=\"50\" step=\"5\" id=\"size\" type=\"range\"/>; it takes a number from 0 to 50 in steps of 5",
        ),
        (
            "#colour",
            "Blue",
            "#colour can't be filled: its option \"Blue\" is disabled (waited 2 s)",
        ),
        (
            "#colour",
            "Pink",
            "#colour can't be filled: it has no option \"Pink\"; its options are \"Red\", \"Green\", \"Blue\" (waited 2 s)",
        ),
    ] {
        assert_eq!(
            stage.refusal("fill", json!({"target": target, "value": value})),
            refusal
        );
    }
    assert_eq!(
        stage.refusal("type", json!({"target": "#fixed", "text": "x"})),
        "#fixed can't be typed into: the element is read-only (waited 2 s)"
    );
    assert_eq!(
        stage.refusal("type", json!({"target": "#heard", "text": "x"})),
        "#heard can't be typed into: the element does not take the focus, <input min=\"0\" max=\"50\" step=\"5\" id=\"size\" type=\"range\"/> has it (waited 2 s)"
    );
}

#[test]
fn fields_of_any_frame_take_text() {
    let stage = Stage::at("/frames-fields.html");
    assert_eq!(
        typed(&stage, "#inner", "hello"),
        "typed 5 characters into textbox \"Same\"\nvalue: \"hello\""
    );
    assert_eq!(
        fill(&stage, "#nested", "wörld"),
        "filled textbox \"Nested\"\nvalue: \"wörld\""
    );
    assert_eq!(
        typed(&stage, "#nested", "!"),
        "typed 1 character into textbox \"Nested\"\nvalue: \"wörld!\""
    );
}

#[test]
fn the_panel_is_scrolled_before_the_window_and_what_remains_is_told() {
    let stage = Stage::at("/panels.html");
    let scroll = |direction: &str| stage.output("scroll", json!({"direction": direction}));
    assert_eq!(
        scroll("down"),
        "scrolled down by 285 px\ncontainer: the panel region \"Results\" [target=#list]\nremaining: up 285 px, down 1430 px, left 0 px, right 515 px"
    );
    assert_eq!(
        scroll("right"),
        "scrolled right by 385 px\ncontainer: the panel region \"Results\" [target=#list]\nremaining: up 285 px, down 1430 px, left 385 px, right 130 px"
    );
    assert_eq!(
        scroll("up"),
        "scrolled up by 285 px\ncontainer: the panel region \"Results\" [target=#list]\nremaining: up 0 px, down 1715 px, left 385 px, right 130 px"
    );
    assert_eq!(
        scroll("up").lines().next().unwrap(),
        "scrolled nothing: this is the end, there is no more to scroll up"
    );
    let small = stage.output("scroll", json!({"direction": "down", "target": "#inner"}));
    assert_eq!(
        small,
        "scrolled down by 100 px\ncontainer: the panel <div id=\"small\">…</div> [target=#small]\nremaining: up 100 px, down 300 px, left 0 px, right 0 px"
    );
    let window = stage.output("scroll", json!({"direction": "down", "target": "#text"}));
    assert!(window.contains("\ncontainer: the window\n"), "{window}");
    assert_eq!(
        stage.refusal("scroll", json!({"direction": "sideways"})),
        "\"sideways\" is no direction; allowed are up, down, left, right"
    );
}

#[test]
fn a_script_answers_json_and_names_what_json_has_not() {
    let stage = Stage::at("/fields.html");
    for (expression, answer) in [
        (
            "return {a: [1, 'x', null], b: undefined}",
            r#"{"a":[1,"x",null]}"#,
        ),
        ("", "undefined"),
        ("return undefined // done", "undefined"),
        ("return await Promise.resolve(document.title)", "\"Fields\""),
        ("return new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("return '\\ud800'", "\"\\ud800\""),
        (
            "return NaN",
            "null\n\nnote: JSON can't say the value (NaN, null in JSON)",
        ),
        (
            "return {f() {}, n: 1}",
            "{\"n\":1}\n\nnote: JSON can't say .f (function)",
        ),
        (
            "alert('now'); return 1",
            "1\n\ndialog: alert \"now\" was accepted",
        ),
        ("location.hash = 'x'; return 1", "1"),
    ] {
        let text = eval(&stage, expression);
        if expression.starts_with("location") {
            assert_eq!(text, format!("1\n\nurl: {}#x", stage.url("/fields.html")));
        } else {
            assert_eq!(text, answer, "{expression}");
        }
    }
    for (expression, refusal) in [
        (
            "return document.body",
            "the value is a DOM node (body), which JSON has not; return its text or attributes",
        ),
        (
            "return {a: [document]}",
            "the value's .a[0] is a DOM node (#document), which JSON has not; return its text or attributes",
        ),
        (
            "const a = {}; a.b = {c: a}; return a",
            "the value's .b.c leads back to the value, a circle that JSON has not",
        ),
        (
            "return {n: 10n}",
            "the value's .n is a BigInt, which JSON has not; return String(…) of it",
        ),
        (
            "return new Map([[1, 2]])",
            "the value is a Map, which JSON can't show; return Object.fromEntries(map) or [...map]",
        ),
        (
            "return () => 1",
            "the value is a function, which JSON has not; return what it gives",
        ),
        (
            "\nnull.x",
            "the script threw TypeError: Cannot read properties of null (reading 'x') (line 2)",
        ),
        ("throw 'no'", "the script threw \"no\""),
        (
            "return (",
            "the script threw SyntaxError: Unexpected token '}'",
        ),
    ] {
        assert_eq!(not_evaluated(&stage, expression), refusal, "{expression}");
    }
    let text = eval(&stage, "location.href = '/second.html'; return 2");
    assert_eq!(
        text,
        format!(
            "2\n\nthe script opened another page\nurl: {}\ntitle: Second\nstatus: 200 OK",
            stage.url("/second.html")
        )
    );
}

#[test]
fn a_script_is_stopped_at_its_limit_and_the_tab_goes_on() {
    let stage = Stage::at("/fields.html");
    let started = Instant::now();
    assert_eq!(
        not_evaluated(&stage, "for (;;);"),
        "the script was not done after 3 s and was stopped"
    );
    assert_eq!(
        not_evaluated(&stage, "await null; for (;;);"),
        "the script was not done after 3 s and was stopped"
    );
    assert_eq!(
        not_evaluated(&stage, "await new Promise(() => {})"),
        "the script was not done after 3 s and was stopped"
    );
    assert_eq!(eval(&stage, "return 1"), "1");
    assert!(started.elapsed() < Duration::from_secs(15));
    let reply = stage.call(
        "eval",
        &json!({"arguments": {"expression": "return 'ä'.repeat(50000)"}, "max_output_bytes": 1000}),
    );
    assert_eq!(reply["original_bytes"], 100_002);
    assert!(reply["output"].as_str().unwrap().len() <= 1000);
}
