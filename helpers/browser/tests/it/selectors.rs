//! What selectors match, by the semantics of Playwright 1.65; expectations are from its rules.

use guilds_browser::Session;

use crate::stage::Stage;

const NONE: &[&str] = &[];

/// Selectors on `selectors.html` with the ids they match, in order.
const ON_SELECTORS: &[(&str, &[&str])] = &[
    // CSS: open shadow roots are pierced, light elements come first.
    ("#save", &["save"]),
    ("css=.dup", &["d1", "d2", "d3"]),
    (".inner", &["deep"]),
    ("#main #deep", &["deep"]),
    ("#host1 > button", &["deep"]),
    ("#host1 #deepest", &["deepest"]),
    ("main>h2", &["h2"]),
    ("h1 + h2", &["h2"]),
    ("h1, [role=heading], h2", &["h1", "h2", "h3"]),
    ("li:nth-child(2)", &["li2"]),
    ("li:has(i)", &["li2"]),
    ("h1:has(+ h2)", &["h1"]),
    ("button:is(#save, #off)", &["save", "off"]),
    ("[aria-label=\"save all\" i]", &["saveall"]),
    ("li:has-text(\"ITEM\")", &["li1", "li2"]),
    (":text(\"first item\")", &["li1"]),
    (":text-is(\"home\")", NONE),
    (":text-is(\"Home\")", &["home"]),
    (":text-matches(\"log\\\\s+in\", \"i\")", &["para"]),
    (":nth-match(a.dup, 2)", &["d2"]),
    ("#veiled:visible", NONE),
    ("#hidden-save:not(:visible)", &["hidden-save"]),
    // Chains.
    ("a.dup >> nth=1", &["d2"]),
    ("a.dup >> nth=-1", &["d3"]),
    ("a.dup >> nth=3", NONE),
    ("*css=ul >> i", &["list"]),
    ("nav >> a >> nth=1", &["catalog"]),
    ("#save, #hidden-save >> visible=true", &["save"]),
    ("#save, #hidden-save >> visible=false", &["hidden-save"]),
    // text=: substring of the smallest, whole run, regular expression.
    ("text=save", &["save", "save-as", "hidden-save"]),
    ("text=\"Save\"", &["save", "hidden-save"]),
    ("'Home'", &["home"]),
    ("text=\"home\"", NONE),
    ("text=log in to", &["para"]),
    ("text=/log\\s+in/i", &["para"]),
    ("text=\"Sign in\"", NONE),
    ("text=Sign in", &["h1"]),
    ("text=\"alpha\"", &["runs"]),
    ("text=twogether", &["comment"]),
    ("text=softhyphen", &["soft"]),
    ("text=She said \"yes\"", &["quoted"]),
    ("text=Submit", NONE),
    ("text=Start over", &["reset"]),
    ("text=Deepest link", &["deepest"]),
    ("text=Read more >> nth=2", &["d3"]),
    ("#li2 >> text=Second", &["li2"]),
    // role=: whole name, case counts; hidden elements only when asked for.
    ("role=button[name=\"Save\"]", &["save"]),
    ("role=button[name=\"save\"]", NONE),
    ("role=button[name=\"save\"i]", &["save"]),
    ("role=button[name=\"Sav\"]", NONE),
    (
        "role=button[name^=\"Save\"]",
        &["save", "save-as", "saveall"],
    ),
    ("role=button[name*=\"all\"]", &["saveall"]),
    ("role=button[name=/^save$/i]", &["save"]),
    (
        "role=button[name=\"Save\"][include-hidden]",
        &["save", "hidden-save"],
    ),
    ("role=button[name=\"Quiet\"]", NONE),
    ("role=button[name=\"in Details\"]", &["labelled"]),
    ("role=button[name=\"Slotted text\"]", &["slot-button"]),
    ("role=button[name=\"Tip text\"]", &["tip"]),
    ("role=button[name=\"Submit\"]", &["go"]),
    ("role=button[name=\"Choose File\"]", &["file"]),
    ("role=button[disabled]", &["off", "in-fieldset"]),
    ("role=button[pressed]", &["mute"]),
    ("role=button[pressed=mixed]", &["half"]),
    ("role=button[expanded=false]", &["more"]),
    ("role=button[expanded]", &["less"]),
    ("role=checkbox[checked]", &["agree"]),
    ("role=checkbox[checked=false]", &["news"]),
    ("role=radio[checked=false]", &["radio-b"]),
    ("role=heading[level=2]", &["h2"]),
    ("role=heading[level=4]", NONE),
    ("role=heading[level=3]", &["h3"]),
    ("role=textbox[name=\"Password\"]", &["pw"]),
    ("role=searchbox[name=\"Find things\"]", &["search"]),
    ("role=option[selected]", &["green"]),
    ("role=img[name=\"Logo\"]", &["logo"]),
    ("role=table[name=\"Prices\"]", &["table"]),
    ("role=row[name=\"Tea 3\"]", &["tr2"]),
    ("role=region", &["region"]),
    ("role=banner", &["top"]),
    ("role=contentinfo", &["foot"]),
    ("role=link[name=\"Deepest link\"]", &["deepest"]),
    ("role=link[name=\"No address\"]", NONE),
    ("role=nosuchrole", NONE),
    ("role=button >> text=Save >> nth=0", &["save"]),
];

/// Accessible names and roles on `names.html`.
const ON_NAMES: &[(&str, &[&str])] = &[
    ("role=button[name=\"OneTwo\"]", &["b1"]),
    ("role=button[name=\"One Two\"]", &["b2"]),
    ("role=button[name=\"*Star\"]", &["b3"]),
    ("role=button[name=\"Before after\"]", &["b4"]),
    ("role=button[name=\"Icon Save\"]", &["b5"]),
    ("role=button[name=\"Vector\"]", &["b7"]),
    ("role=button[name=\"Hidden reference\"]", &["b11"]),
    ("role=button[name=\"Self other\"]", &["b12"]),
    ("role=button[name=\"Seen\"]", &["b13"]),
    ("role=button[name=\"Say typed now\"]", &["b16"]),
    ("role=button[name=\"Focusable none\"]", &["b20"]),
    ("role=button[name=\"Inherited\"][disabled]", &["b24"]),
    ("role=checkbox[name=\"Flash 3 times\"]", NONE),
    ("role=checkbox[name=\"First second\"]", &["c2"]),
    ("role=spinbutton[name=\"Flash 3 times\"]", NONE),
    ("role=textbox[name=\"Bold label\"]", &["t1"]),
    ("role=textbox[name=\"Win\"]", &["t4"]),
    ("role=group[name=\"Legend text\"]", &["fs1"]),
    ("role=figure[name=\"Caption here\"]", &["fig"]),
    ("role=cell[name=\"cell\"]", NONE),
    ("role=gridcell[name=\"cell\"]", &["g1"]),
    ("role=button[name=\"Closed\"]", NONE),
    ("role=button[name=\"Open\"]", &["b31"]),
    ("role=button[name=\"Got Light !\"]", &["sb4"]),
    ("role=button[name=\"Shadow label\"]", &["sb2"]),
    ("role=button[name=\"Back\"]", &["b50"]),
    ("role=button[name=\"Zero\"]", &["b54"]),
    ("role=switch[checked]", &["sw"]),
    ("role=button[description=\"other\"]", &["b60"]),
];

/// Selectors that are refused, with the refusal's beginning.
const REFUSED: &[(&str, &str)] = &[
    ("xpath=//a[", "xpath=//a[: not an XPath expression"),
    (
        "xpath=count(//a)",
        "xpath=count(//a): it finds a value, not elements",
    ),
    (
        "foo=bar",
        "unknown selector engine \"foo\"; allowed are css=, css:light=, text=, role=, xpath=, id=,",
    ),
    (
        "text:light=a",
        "unknown selector engine \"text:light\"; allowed are",
    ),
    (
        "getByRole('button')",
        "getByRole(…) is code, not a selector; write role=button",
    ),
    (
        "div:contains(\"x\")",
        ":contains is not CSS; use :has-text(\"…\")",
    ),
    ("a:eq(1)", ":eq is not CSS; use >> nth=…"),
    ("50%", "css=50%: unexpected \"50%\" at character 1"),
    ("a >>", "a part of the target is empty"),
    ("role=", "role= needs a role"),
    (
        "role=button[checked]",
        "[checked] goes with the roles checkbox, menuitemcheckbox, menuitemradio, option, radio, switch, treeitem, not with button",
    ),
    (
        "role=button[foo=1]",
        "role= has no attribute [foo]; allowed are checked, description, disabled, expanded, include-hidden, level, name, pressed, selected",
    ),
    (
        "role=button[name=true]",
        "[name] of role= takes a string or a /regular expression/",
    ),
    (
        "role=button[name=Save as]",
        "role=button[name=Save as]: unexpected \"a\" in [name] at character",
    ),
    (":text(a)", ":text takes one string in quotes"),
    (
        ":nth-match(a)",
        ":nth-match takes selectors and a whole number from 1",
    ),
    (
        "a:near(5)",
        ":near takes selectors and, if wanted, the most pixels",
    ),
];

fn check(page: &str, run: impl AsyncFnOnce(&mut Session)) {
    let stage = Stage::at(page);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut session = Session::connect(stage.port, stage.home()).await.unwrap();
        session.open_tab(false).await.unwrap();
        run(&mut session).await;
    });
}

async fn wrong(session: &mut Session, pairs: &[(&str, &[&str])]) -> Vec<String> {
    let selectors: Vec<String> = pairs.iter().map(|(one, _)| (*one).to_owned()).collect();
    let mut wrong = Vec::new();
    let all = session.matching(&selectors, 0).await.unwrap();
    for ((selector, expected), found) in pairs.iter().zip(all) {
        match found {
            Ok(found) if found.names == *expected => {}
            other => wrong.push(format!("{selector}: {other:?}, not {expected:?}")),
        }
    }
    wrong
}

#[test]
fn selectors_match_what_playwright_matches() {
    check("/selectors.html", async |session| {
        assert_eq!(wrong(session, ON_SELECTORS).await, Vec::<String>::new());
    });
}

#[test]
fn names_and_roles_are_those_of_the_recommendation() {
    check("/names.html", async |session| {
        assert_eq!(wrong(session, ON_NAMES).await, Vec::<String>::new());
    });
}

#[test]
fn what_is_no_selector_is_refused_with_what_is_allowed() {
    check("/selectors.html", async |session| {
        for (selector, expected) in REFUSED {
            let mut found = session
                .matching(&[(*selector).to_owned()], 0)
                .await
                .unwrap();
            let refusal = found.remove(0).unwrap_err();
            assert!(refusal.starts_with(expected), "{selector}: {refusal}");
        }
    });
}
