//! What a tree must tell of parts that have no role or hold their contents back, and what a target that is none is answered.

use super::{Case, does, has, refuses};

#[test]
fn a_reader_finds_a_target_for_whatever_can_be_used() {
    super::check(CASES);
}

const NEAR: &str = "no element matches role=button[name=\"save\"]\nbrowser_snapshot shows what is there now\nnear it: role=button[name=\"Save\"], role=link[name=\"Save all\"]";

pub const CASES: &[Case] = &[
    Case {
        name: "details-closed-and-open",
        html: "<details><summary>More</summary>Held back <button>Inside</button></details><details open><summary>Less</summary>Shown</details>",
        steps: &[
            does(
                "snapshot",
                &[],
                "url: {url}\ntitle: details-closed-and-open\n\n- group:\n  - generic [target=details:nth-of-type(1) > summary]: More\n- group:\n  - generic [open] [target=details:nth-of-type(2) > summary]: Less\n  - text: Shown",
            ),
            has("click", &["details:nth-of-type(1) > summary"], &[]),
            has(
                "snapshot",
                &[],
                &[
                    "  - generic [open] [target=details:nth-of-type(1) > summary]: More",
                    "  - text: Held back",
                    "  - button \"Inside\"",
                ],
            ),
        ],
    },
    Case {
        name: "words-that-nobody-sees",
        html: "<video width=90 height=40>no video</video><progress value=.5>half</progress><div style=content-visibility:hidden>skipped</div><div hidden=until-found>to be found</div><object data=/second.html width=90 height=40>instead</object><object data=/none type=application/x-none>Fallback</object>",
        steps: &[does(
            "snapshot",
            &[],
            "url: {url}\ntitle: words-that-nobody-sees\n\n- progressbar: 0.5\n- object:\n  - heading \"Second page\" [level=1]\n  - button \"Close me\"\n- text: Fallback",
        )],
    },
    Case {
        name: "documents-in-other-elements",
        html: "<object data=/second.html width=200 height=80></object><embed src=/second.html width=200 height=80><iframe src=/paper.pdf width=200 height=80 title=Paper></iframe>",
        steps: &[
            does(
                "snapshot",
                &[],
                "url: {url}\ntitle: documents-in-other-elements\n\n- object:\n  - heading \"Second page\" [level=1]\n  - button \"Close me\" [nth=0]\n- embed:\n  - heading \"Second page\" [level=1]\n  - button \"Close me\" [nth=1]\n- iframe \"Paper\" [PDF, not readable]",
            ),
            does(
                "click",
                &["role=button[name=\"Close me\"] >> nth=1"],
                "clicked button \"Close me\"",
            ),
        ],
    },
    Case {
        name: "a-paper",
        html: "<a href=/paper.pdf>Paper</a>",
        steps: &[
            has("click", &["text=Paper"], &["url: {site}/paper.pdf"]),
            does(
                "snapshot",
                &[],
                "url: {site}/paper.pdf\ntitle: \n\nnote: a PDF has no tree; browser_screenshot shows what is in view",
            ),
        ],
    },
    Case {
        name: "nothing-but-paint",
        html: "<canvas width=90 height=90></canvas>",
        steps: &[does(
            "snapshot",
            &[],
            "url: {url}\ntitle: nothing-but-paint\n\nnote: the page has nothing that a tree can tell; browser_screenshot shows what it paints",
        )],
    },
    Case {
        name: "usable-without-a-role",
        html: "<div onclick=\"this.textContent = 'pressed'\">Press</div><div tabindex=0>Focus</div><div tabindex=-1>Not</div><div contenteditable>Write <strong>here</strong></div><ul><li style=cursor:pointer>One</li><li>Two</li></ul><img alt=Logo onclick=1 width=9 height=9><video controls width=90 height=60></video>",
        steps: &[
            does(
                "snapshot",
                &[],
                "url: {url}\ntitle: usable-without-a-role\n\n- generic [target=div:nth-of-type(1)]: Press\n- generic [target=div:nth-of-type(2)]: Focus\n- text: Not\n- generic [target=div:nth-of-type(4)]:\n  - text: Write\n  - strong: here\n- list:\n  - listitem [target=li:nth-of-type(1)]: One\n  - listitem: Two\n- img \"Logo\" [target=img]\n- video [target=video]",
            ),
            has("click", &["div:nth-of-type(1)"], &[]),
            does(
                "fill",
                &["div:nth-of-type(4)", "new"],
                "filled <div contenteditable>…</div>\nvalue: \"new\"",
            ),
            does(
                "eval",
                &["return document.querySelector('div').textContent"],
                "\"pressed\"",
            ),
        ],
    },
    Case {
        name: "references-of-another-tool",
        html: "<button>Save</button>",
        steps: &[
            refuses(
                "click",
                &["e3"],
                "no element matches e3\nreferences such as e3 are another tool's; role and name, or a [target=…], of browser_snapshot make a target",
            ),
            refuses(
                "click",
                &["[ref=f1e3]"],
                "no element matches [ref=f1e3]\nreferences such as e3 are another tool's; role and name, or a [target=…], of browser_snapshot make a target",
            ),
        ],
    },
    Case {
        name: "an-element-of-that-name",
        html: "<button ref=e3>Save</button>",
        steps: &[does("click", &["[ref=e3]"], "clicked button \"Save\"")],
    },
    Case {
        name: "lines-of-the-tree",
        html: "<button>Save \"it\"</button><button>Twice</button><button>Twice</button>",
        steps: &[
            refuses(
                "click",
                &["- button \"Save \\\"it\\\"\""],
                "- button \"Save \\\"it\\\"\" is written as the tree writes it; as a target write role=button[name=\"Save \\\"it\\\"\"]",
            ),
            refuses(
                "click",
                &["button \"Twice\" [nth=1]"],
                "button \"Twice\" [nth=1] is written as the tree writes it; as a target write role=button[name=\"Twice\"] >> nth=1",
            ),
            refuses(
                "click",
                &["- generic [target=div:nth-of-type(2)]: Card"],
                "- generic [target=div:nth-of-type(2)]: Card is written as the tree writes it; as a target write div:nth-of-type(2)",
            ),
            refuses(
                "click",
                &["role=button[name=\"Twice\"] >> [nth=1]"],
                "css=[nth=1]: \"[nth=1]\" is not a CSS selector at character 1; write a class or id with special characters as CSS.escape does; a place is a part of its own: >> nth=1",
            ),
        ],
    },
    Case {
        name: "a-name-like-it",
        html: "<button>Save</button><button>Save</button><a href=#>Save all</a><p>save</p>",
        steps: &[refuses("click", &["role=button[name=\"save\"]"], NEAR)],
    },
];
