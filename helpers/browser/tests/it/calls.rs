//! What calls do to a page and what they tell.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::Stage;

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|one| one == line)
}

#[test]
fn navigate_tells_address_title_and_status() {
    let stage = Stage::new();
    let text = stage.output("navigate", json!({"url": stage.url("/second.html")}));
    assert_eq!(
        text,
        format!(
            "url: {}\ntitle: Second\nstatus: 200 OK",
            stage.url("/second.html")
        )
    );
    let text = stage.output("navigate", json!({"url": stage.url("/missing")}));
    assert_eq!(
        text,
        format!(
            "url: {}\ntitle: Lost\nstatus: 404 Not Found",
            stage.url("/missing")
        )
    );
    let text = stage.output("navigate", json!({"url": stage.url("/redirect")}));
    assert_eq!(
        text,
        format!(
            "url: {}\ntitle: Second\nstatus: 200 OK",
            stage.url("/second.html")
        )
    );
}

#[test]
fn navigate_adds_a_scheme_and_says_so() {
    let stage = Stage::new();
    let text = stage.output(
        "navigate",
        json!({"url": format!("127.0.0.1:{}/second.html", stage.site_port())}),
    );
    assert!(
        has_line(
            &text,
            "note: the address had no scheme, http:// was put before it"
        ),
        "{text}"
    );
    assert!(has_line(&text, "title: Second"), "{text}");
}

#[test]
fn navigate_refuses_what_is_no_page() {
    let stage = Stage::new();
    assert_eq!(
        stage.refusal("navigate", json!({"url": "file:///etc/passwd"})),
        "file: addresses can't be opened; allowed are http:, https: and about:blank"
    );
    let unused = {
        std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
    };
    let url = format!("http://127.0.0.1:{unused}/");
    let refusal = stage.refusal("navigate", json!({"url": url}));
    assert_eq!(
        refusal,
        format!("{url} could not be opened: net::ERR_CONNECTION_REFUSED")
    );
    assert_eq!(
        stage.output("navigate", json!({"url": "about:blank"})),
        "url: about:blank\ntitle: "
    );
}

#[test]
fn navigate_to_nothing_and_to_a_download_keeps_the_page() {
    let stage = Stage::at("/second.html");
    let text = stage.output("navigate", json!({"url": stage.url("/204")}));
    assert!(
        has_line(
            &text,
            "the server answered 204 without a page, the page stayed as it was"
        ),
        "{text}"
    );
    assert!(has_line(&text, "title: Second"), "{text}");
    let text = stage.output("navigate", json!({"url": stage.url("/report.csv")}));
    assert!(
        has_line(
            &text,
            "the address is a download, the page stayed as it was"
        ),
        "{text}"
    );
    assert!(
        has_line(&text, "download: saved as downloads/report.csv, 8 bytes"),
        "{text}"
    );
    assert_eq!(
        fs::read(stage.home().join("downloads/report.csv")).unwrap(),
        b"a,b\n1,2\n"
    );
}

#[test]
fn navigate_waits_a_bounded_while_for_the_load() {
    let stage = Stage::new();
    let started = Instant::now();
    let text = stage.output("navigate", json!({"url": stage.url("/hanging-image")}));
    assert!(
        has_line(
            &text,
            "still loading: the page is usable, parts of it are missing"
        ),
        "{text}"
    );
    assert!(has_line(&text, "title: Hanging"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(9));
}

#[test]
fn a_click_does_what_a_mouse_does() {
    let stage = Stage::at("/actions.html");
    assert_eq!(stage.click("text=Count"), "clicked button \"Count\"");
    assert_eq!(
        stage.click("role=button[name=\"Clicked 1\"]"),
        "clicked button \"Clicked 1\""
    );
    assert_eq!(
        stage.click("role=button[name=\"In shadow\"]"),
        "clicked button \"In shadow\""
    );
    stage.click("#far");
    stage.click("#mover");
    stage.click("#late");
    let tree = stage.snapshot();
    for name in ["Clicked 2", "Shadow done", "Reached", "Caught", "Late done"] {
        assert!(
            has_line(&tree, &format!("- button \"{name}\"")),
            "{name}: {tree}"
        );
    }
}

#[test]
fn dialogs_are_answered_and_told() {
    let stage = Stage::at("/actions.html");
    assert_eq!(
        stage.click("#alert"),
        "clicked button \"Alert\"\ndialog: alert \"Hello there\" was accepted"
    );
    assert_eq!(
        stage.click("#confirm"),
        "clicked button \"Confirm\"\ndialog: confirm \"Delete it?\" was accepted"
    );
    assert!(has_line(&stage.snapshot(), "- paragraph: confirm=true"));
    assert_eq!(
        stage.click("#prompt"),
        "clicked button \"Prompt\"\ndialog: prompt \"Name?\" was dismissed"
    );
    assert!(has_line(&stage.snapshot(), "- paragraph: prompt=null"));
}

#[test]
fn a_dialog_that_opened_between_calls_stops_nothing() {
    let stage = Stage::at("/later.html");
    std::thread::sleep(Duration::from_millis(600));
    let started = Instant::now();
    let tree = stage.snapshot();
    assert!(has_line(&tree, "- heading \"Later\" [level=1]"), "{tree}");
    assert!(
        has_line(
            &tree,
            "dialog: one that opened since the last call was dismissed"
        ),
        "{tree}"
    );
    assert!(has_line(&tree, "title: After"), "{tree}");
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_new_tab_is_followed_and_left_again() {
    let stage = Stage::at("/actions.html");
    let text = stage.click("#blank");
    let expected =
        "clicked link \"Open in new tab\": it opened a new tab, which is the current one now";
    assert!(has_line(&text, expected), "{text}");
    assert!(has_line(&text, "title: Second"), "{text}");
    assert!(has_line(&stage.snapshot(), "title: Second"));
    let text = stage.click("#close");
    assert!(text.starts_with("clicked button \"Close me\""), "{text}");
    let tree = stage.snapshot();
    assert!(has_line(&tree, "title: Actions"), "{tree}");
    let text = stage.click("#popup");
    assert!(has_line(&text, "title: Second"), "{text}");
}

#[test]
fn a_download_that_ended_between_two_calls_is_told_once() {
    let stage = Stage::at("/actions.html");
    std::fs::create_dir(stage.home().join("downloads")).unwrap();
    std::fs::write(stage.home().join("downloads/late.txt"), b"hello").unwrap();
    let line = "download: downloads/late.txt, 5 bytes, came since the last call";
    assert!(has_line(&stage.snapshot(), line));
    assert!(!has_line(&stage.snapshot(), line));
}

#[test]
fn a_click_that_navigates_tells_where_to() {
    let stage = Stage::at("/actions.html");
    let text = stage.click("#missing");
    let expected = format!(
        "clicked link \"Missing page\": it opened another page\nurl: {}\ntitle: Lost\nstatus: 404 Not Found",
        stage.url("/missing")
    );
    assert_eq!(text, expected);
    let stage = {
        drop(stage);
        Stage::at("/actions.html")
    };
    assert_eq!(
        stage.click("#nothing"),
        "clicked link \"No content\"\nnote: the server answered 204 without a page, the page stayed as it was"
    );
    assert_eq!(
        stage.click("#anchor"),
        format!(
            "clicked link \"Jump\"\nurl: {}",
            stage.url("/actions.html#below")
        )
    );
    assert_eq!(
        stage.click("#download"),
        "clicked link \"Report\"\ndownload: saved as downloads/report.csv, 8 bytes"
    );
    let text = stage.click("#fetch");
    assert!(has_line(&text, "title: Second"), "{text}");
}

#[test]
fn a_checkbox_is_clicked_through_its_label_and_its_state_is_told() {
    let stage = Stage::at("/actions.html");
    assert_eq!(
        stage.click("#terms"),
        "clicked checkbox \"Accept terms\"\nstates: [checked] now, none before"
    );
    assert_eq!(
        stage.click("#terms"),
        "clicked checkbox \"Accept terms\"\nstates: none now, [checked] before"
    );
    assert_eq!(
        stage.click("#stubborn"),
        "clicked checkbox \"Stubborn\"\nstates: nothing changed, it is still not checked"
    );
}

#[test]
fn a_file_chooser_is_told() {
    let stage = Stage::at("/actions.html");
    assert_eq!(
        stage.click("#upload-button"),
        "clicked button \"Upload\"\nfile chooser: the page asked for a file; it was cancelled, no tool can choose one here"
    );
}

#[test]
fn a_click_that_can_not_be_names_what_is_in_the_way() {
    let stage = Stage::at("/overlay.html");
    let started = Instant::now();
    assert_eq!(
        stage.refusal("click", json!({"target": "#under"})),
        "#under can't be clicked: <span id=\"text\">Cookies?</span> from <div id=\"cover\">…</div> subtree intercepts pointer events (waited 2 s)"
    );
    assert!(started.elapsed() < Duration::from_secs(4));
    let stage = {
        drop(stage);
        Stage::at("/actions.html")
    };
    assert_eq!(
        stage.refusal("click", json!({"target": "#off"})),
        "#off can't be clicked: the element is disabled (waited 2 s)"
    );
    assert_eq!(
        stage.refusal("click", json!({"target": "#ghost"})),
        "#ghost can't be clicked: the element is not visible (waited 2 s)"
    );
}

#[test]
fn no_match_and_many_are_refused() {
    let stage = Stage::at("/selectors.html");
    assert_eq!(
        stage.refusal("click", json!({"target": "#nobody"})),
        "no element matches #nobody\nbrowser_snapshot shows what is there now"
    );
    assert_eq!(
        stage.refusal("click", json!({"target": "text=Read more"})),
        "strict mode violation: text=Read more resolved to 3 elements\n    \
         1) <a id=\"d1\" href=\"/1\" class=\"dup\">Read more</a> aka #d1\n    \
         2) <a id=\"d2\" href=\"/2\" class=\"dup\">Read more</a> aka #d2\n    \
         3) <a id=\"d3\" href=\"/3\" class=\"dup\">Read more</a> aka #d3"
    );
    assert_eq!(
        stage.refusal("click", json!({"target": "xpath=//a["})),
        "xpath=//a[: not an XPath expression"
    );
}

#[test]
fn clicks_reach_into_frames_of_any_process() {
    let stage = Stage::at("/frames.html");
    let refusal = stage.refusal("click", json!({"target": "#ok"}));
    assert!(
        refusal.starts_with("strict mode violation: #ok resolved to 3 elements\n"),
        "{refusal}"
    );
    assert!(refusal.contains("aka #ok >> nth=2"), "{refusal}");
    assert_eq!(
        stage.click("role=button[name=\"OK\"] >> nth=1"),
        "clicked button \"OK\""
    );
    assert_eq!(stage.click("#ok >> nth=-1"), "clicked button \"OK\"");
    let tree = stage.snapshot();
    assert!(has_line(&tree, "  - button \"Done same\""), "{tree}");
    assert!(has_line(&tree, "    - button \"Done nested\""), "{tree}");
}

#[test]
fn a_screenshot_is_a_picture_of_bounded_size() {
    let stage = Stage::at("/second.html");
    let text = stage.output("screenshot", json!({}));
    assert_eq!(text.lines().next(), Some("screenshots/latest.jpg"));
    assert!(has_line(&text, "title: Second"), "{text}");
    let picture = fs::read(stage.home().join("screenshots/latest.jpg")).unwrap();
    assert_eq!(&picture[..3], [0xFF, 0xD8, 0xFF]);
    assert!(
        text.contains(&format!(" pixels, {} bytes", picture.len())),
        "{text}"
    );
    assert_eq!(
        fs::read_dir(stage.home().join("screenshots"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_crashed_tab_is_told_at_once_and_replaced() {
    let stage = Stage::at("/second.html");
    let started = Instant::now();
    let reply = stage.call(
        "navigate",
        &json!({"arguments": {"url": stage.url("/second.html")}}),
    );
    assert!(reply["output"].is_string(), "{reply}");
    stage.crash_tab();
    let refusal = stage.refusal("snapshot", json!({}));
    assert_eq!(
        refusal,
        "the page crashed; open it again with browser_navigate"
    );
    let text = stage.output("navigate", json!({"url": stage.url("/second.html")}));
    assert!(has_line(&text, "title: Second"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_page_that_hangs_is_told_and_left() {
    let stage = Stage::at("/second.html");
    stage.hang_tab();
    let started = Instant::now();
    let reply = stage.call("snapshot", &json!({"arguments": {}}));
    let refusal = reply["error"].as_str().unwrap();
    assert!(refusal.contains("does not answer"), "{refusal}");
    let text = stage.output("navigate", json!({"url": stage.url("/second.html")}));
    assert!(has_line(&text, "title: Second"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_call_ends_at_its_limit_with_a_sentence() {
    let stage = Stage::new();
    let started = Instant::now();
    let reply = stage.call(
        "navigate",
        &json!({"arguments": {"url": stage.url("/never")}, "limit_ms": 3000}),
    );
    assert_eq!(
        reply["error"],
        "the call reached its limit of 3 s while waiting for the server"
    );
    assert!(started.elapsed() < Duration::from_millis(3500));
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let stage = Stage::new();
    let refusal = stage.refusal("click", json!({"target": 7}));
    assert!(
        refusal.starts_with("the arguments are not right: invalid type: integer `7`"),
        "{refusal}"
    );
    let refusal = stage.refusal("snapshot", json!({"depth": 1}));
    assert!(refusal.contains("unknown field `depth`"), "{refusal}");
}

#[test]
fn the_way_to_another_chrome_is_not_taken() {
    let stage = Stage::at("/second.html");
    let memory = stage.home().join(".cache/guilds/browser.json");
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&memory).unwrap()).unwrap() };
    let mut left = read();
    let right = left["browser"].clone();
    for wrong in [
        json!("/devtools/browser/00000000-0000-0000-0000-000000000000"),
        json!("/json/close/0"),
        Value::Null,
    ] {
        left["browser"] = wrong;
        std::fs::write(&memory, left.to_string()).unwrap();
        let title = stage.output("eval", json!({"expression": "return document.title"}));
        assert_eq!(title, "\"Second\"");
        assert_eq!(read()["browser"], right);
    }
}

#[test]
fn an_address_that_changes_within_the_page_is_told() {
    let stage = Stage::at("/second.html");
    let url = stage.url("/second.html");
    let pushes = "history.pushState(null, '', '?page=2'); return 1";
    let told = stage.output("eval", json!({ "expression": pushes }));
    assert_eq!(told, format!("1\n\nurl: {url}?page=2"));
    let told = stage.output("eval", json!({"expression": "return 2"}));
    assert_eq!(told, "2");
    let hash = "location.hash = 'x'; return 3";
    let told = stage.output("eval", json!({ "expression": hash }));
    assert_eq!(told, format!("3\n\nurl: {url}?page=2#x"));
}
