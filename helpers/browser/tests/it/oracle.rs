//! Playwright as the oracle: the same selectors on the same page of the same Chrome, by playwright-core and by our own engine.
//!
//! `tests/pages/oracle` holds the lists of selectors, one a line, and the pages that no other test has.
//! To these come `role=` for every role, and for every element with its name.

mod client;
mod compare;

use std::collections::BTreeSet;
use std::path::PathBuf;

use guilds_browser::Session;
use serde_json::Value;

use crate::stage::Stage;
use client::Oracle;

/// Lists of `tests/pages/oracle`, each with the page that it is tried on.
const PAGES: &[(&str, &str)] = &[
    ("css", "/selectors.html"),
    ("text", "/oracle/text.html"),
    ("roles", "/oracle/roles.html"),
    ("names", "/names.html"),
    ("labels", "/oracle/labels.html"),
    ("states", "/oracle/states.html"),
    ("shadow", "/oracle/shadow.html"),
    ("layout", "/oracle/layout.html"),
    ("chains", "/selectors.html"),
    ("refused", "/selectors.html"),
    ("frames", "/oracle/frames.html"),
];
/// Those of them on whose page every role and every name is asked for as well.
const WITH_ROLES: &[&str] = &["roles", "names", "labels", "states", "shadow", "frames"];

/// Where we differ, and why; `docs/browser.md` argues each.
const DIFFERENCES: &[(&str, &str)] = &[
    ("#nosuch >> role=button[checked]", EAGER),
    ("#nosuch >> text=/(/", EAGER),
    ("#nosuch >> xpath=//[", EAGER),
    ("#nosuch:text(a)", EAGER),
    ("a:nosuch .nothing", EAGER),
    ("aria-ref=e1", REFS),
    ("internal:role=button", REFS),
    ("internal:text=\"Save\"i", REFS),
    ("internal:testid=[data-testid=\"x\"]", REFS),
    ("role=checkbox[name=\"L5 every 5 min 7 r ta p e\"]", SECRET),
    ("text:light=shadow text", LIGHT),
    ("text:light=bare shadow run", LIGHT),
    ("text:light=\"before\"", LIGHT),
    ("text:light=deep a", LIGHT),
    ("id:light=a-deep", LIGHT),
    ("id:light=deep", LIGHT),
];
const SECRET: &str = "a password never becomes part of the name of something else";
const EAGER: &str = "what can't be right is refused, also when Playwright never comes to it";
const REFS: &str =
    "the tree prints targets, not references; the others are its methods' own spelling";
const LIGHT: &str = "only css has :light; Playwright refuses it once something matches, we at once";

const ROLES: &str = "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox \
    complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid \
    gridcell group heading img insertion link list listbox listitem log main mark marquee math meter menu menubar \
    menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation progressbar radio \
    radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong \
    subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem";

fn written(list: &str) -> Vec<String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/pages/oracle")
        .join(format!("{list}.txt"));
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("; "))
        .map(str::to_owned)
        .collect()
}

/// A string as `role=` takes it in quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn made(elements: &[Value]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for role in ROLES.split_whitespace() {
        all.insert(format!("role={role}"));
    }
    for element in elements {
        let role = element["role"].as_str().unwrap();
        all.insert(format!("role={role}[include-hidden]"));
        if let Some(name) = element["name"].as_str() {
            all.insert(format!("role={role}[name={}]", quoted(name)));
        }
        if element["name"] != element["whole"] {
            let whole = quoted(element["whole"].as_str().unwrap());
            all.insert(format!("role={role}[name={whole}][include-hidden]"));
        }
    }
    all
}

#[test]
fn selectors_mean_what_playwright_means() {
    let stage = Stage::new();
    let mut oracle = Oracle::connect(stage.port);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (mut pairs, mut wrong) = (0, Vec::new());
    let mut unseen: BTreeSet<&str> = DIFFERENCES.iter().map(|(selector, _)| *selector).collect();
    for (list, page) in PAGES {
        let url = stage.url(page);
        stage.output("navigate", serde_json::json!({"url": url}));
        runtime.block_on(async {
            let mut session = Session::connect(stage.port, stage.home()).await.unwrap();
            session.open_tab(false).await.unwrap();
            let mut selectors = written(list);
            let strict = selectors.len();
            if WITH_ROLES.contains(list) {
                selectors.extend(made(&session.every_role().await.unwrap()));
            }
            let theirs = oracle.ask(&url, &selectors, strict);
            let ours = session.matching(&selectors, strict).await.unwrap();
            for ((selector, ours), theirs) in selectors.iter().zip(ours).zip(theirs) {
                pairs += 1;
                let difference = compare::difference(selector, &ours, &theirs);
                match difference {
                    Some(_) if unseen.remove(selector.as_str()) => {}
                    Some(difference) => wrong.push(format!("{list}: {difference}")),
                    None => {}
                }
            }
        });
    }
    assert!(
        wrong.is_empty(),
        "{} of {pairs} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(unseen.is_empty(), "no longer different: {unseen:?}");
}
