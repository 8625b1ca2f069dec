//! Scripts in pages that get in their way.

use super::{Case, does, refuses};

#[test]
fn scripts_run_whatever_the_page_forbids() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "a-policy-that-forbids-everything",
        html: "<html><head><title>Locked</title><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"></head><body><h1>Locked</h1><button>Press</button><input aria-label=Name></body></html>",
        steps: &[
            does(
                "snapshot",
                &[],
                "url: {url}\ntitle: Locked\n\n- heading \"Locked\" [level=1]\n- button \"Press\"\n- textbox \"Name\"",
            ),
            does("eval", &["return 6 * 7"], "42"),
            does("click", &["role=button"], "clicked button \"Press\""),
            does(
                "fill",
                &["role=textbox", "Ada"],
                "filled textbox \"Name\"\nvalue: \"Ada\"",
            ),
            does(
                "type",
                &["role=textbox", "!"],
                "typed 1 character into textbox \"Name\"\nvalue: \"Ada!\"",
            ),
        ],
    },
    Case {
        name: "a-page-with-its-own-prototypes",
        html: "<button id=a>Press</button><script>Array.prototype.filter = Array.prototype.map = () => []; Element.prototype.matches = () => false; document.querySelectorAll = () => []; Element.prototype.getBoundingClientRect = () => ({width: 0}); window.getComputedStyle = () => ({})</script>",
        steps: &[does(
            "click",
            &["role=button[name=\"Press\"]"],
            "clicked button \"Press\"",
        )],
    },
    Case {
        name: "a-global-of-every-name",
        html: "<form id=document><input name=body><input name=title></form><p id=location>x</p><p id=guildsPage>y</p>",
        steps: &[does(
            "eval",
            &["return document.title"],
            "\"a-global-of-every-name\"",
        )],
    },
    Case {
        name: "values-of-all-kinds",
        html: "<p>Values</p>",
        steps: &[
            does(
                "eval",
                &["return [0, -1.5, '', 'ü\"', true, null, [[]], {}]"],
                "[0,-1.5,\"\",\"ü\\\"\",true,null,[[]],{}]",
            ),
            does(
                "eval",
                &["return {when: new Date(86400000), url: new URL('http://a.example/b')}"],
                "{\"when\":\"1970-01-02T00:00:00.000Z\",\"url\":\"http://a.example/b\"}",
            ),
            does(
                "eval",
                &["return new Uint8Array([1, 2])"],
                "{\"0\":1,\"1\":2}",
            ),
            does("eval", &["return [undefined, 1]"], "[null,1]"),
            does(
                "eval",
                &["const same = {n: 1}; return [same, same]"],
                "[{\"n\":1},{\"n\":1}]",
            ),
            refuses(
                "eval",
                &["return new Set([1])"],
                "the value is a Set, which JSON can't show; return [...set]",
            ),
            refuses(
                "eval",
                &["return window"],
                "the value is a Window, which JSON can't show; return what is wanted of it",
            ),
            refuses(
                "eval",
                &["return {e: new TypeError('x')}"],
                "the value's .e is an Error, which JSON can't show; return its message",
            ),
            refuses(
                "eval",
                &["return {'a b': [Symbol('s'), 1n]}"],
                "the value's [\"a b\"][1] is a BigInt, which JSON has not; return String(…) of it",
            ),
            refuses(
                "eval",
                &["return {toJSON() { throw new Error('no') }}"],
                "the value can't be written as JSON: no",
            ),
        ],
    },
    Case {
        name: "bodies-of-all-kinds",
        html: "<p>Bodies</p>",
        steps: &[
            does("eval", &["1 + 1"], "undefined"),
            does(
                "eval",
                &["let n = 0; for await (const x of [1, 2]) n += x; return n // the sum"],
                "3",
            ),
            does(
                "eval",
                &["/* a */ return (await fetch('/slow')).status"],
                "200",
            ),
            refuses(
                "eval",
                &["throw new RangeError('too far')"],
                "the script threw RangeError: too far (line 1)",
            ),
            refuses(
                "eval",
                &["\n\nreturn missing"],
                "the script threw ReferenceError: missing is not defined (line 3)",
            ),
            refuses(
                "eval",
                &["await Promise.reject({code: 7})"],
                "the script threw Object",
            ),
            refuses(
                "eval",
                &["return }"],
                "the script threw SyntaxError: Unexpected token '}'",
            ),
        ],
    },
    Case {
        name: "a-script-that-opens-and-leaves",
        html: "<p>Here</p>",
        steps: &[
            does(
                "eval",
                &["history.pushState({}, '', '?x'); return 1"],
                "1\n\nurl: {url}?x",
            ),
            does(
                "eval",
                &["open('/second.html'); return 2"],
                "2\n\nthe script opened a new tab, which is the current one now\nurl: {site}/second.html\ntitle: Second\nstatus: 200",
            ),
        ],
    },
];
