//! Dialogs in every handler: each is answered by the stated policy and told by the call that caused it.

use super::{Case, does, has};

#[test]
fn dialogs_are_answered_wherever_they_open() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "alert-in-every-mouse-handler",
        html: "<button id=a>Press</button><script>for (const name of ['mouseover', 'mousedown', 'mouseup', 'click']) a.addEventListener(name, () => alert(name))</script>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked button \"Press\"\ndialog: alert \"mouseover\" was accepted\ndialog: alert \"mousedown\" was accepted\ndialog: alert \"mouseup\" was accepted\ndialog: alert \"click\" was accepted",
        )],
    },
    Case {
        name: "alert-on-focus",
        html: "<input id=a aria-label=Name><script>a.addEventListener('focus', () => alert('focus'), {once: true})</script>",
        steps: &[does(
            "fill",
            &["#a", "Ada"],
            "filled textbox \"Name\"\nvalue: \"Ada\"\ndialog: alert \"focus\" was accepted",
        )],
    },
    Case {
        name: "alert-in-every-key-handler",
        html: "<input id=a aria-label=Name><script>for (const name of ['keydown', 'keypress', 'input', 'keyup']) a.addEventListener(name, () => alert(name))</script>",
        steps: &[does(
            "type",
            &["#a", "x"],
            "typed 1 character into textbox \"Name\"\nvalue: \"x\"\ndialog: alert \"keydown\" was accepted\ndialog: alert \"keypress\" was accepted\ndialog: alert \"input\" was accepted\ndialog: alert \"keyup\" was accepted",
        )],
    },
    Case {
        name: "confirm-on-change",
        html: "<select id=a aria-label=Plan onchange=\"window.answer = confirm('Change the plan?')\"><option>Free<option>Paid</select>",
        steps: &[
            does(
                "fill",
                &["#a", "Paid"],
                "filled combobox \"Plan\"\nselected: \"Paid\"\ndialog: confirm \"Change the plan?\" was accepted",
            ),
            does("eval", &["return window.answer"], "true"),
        ],
    },
    Case {
        name: "alert-on-scroll",
        html: "<body style='margin:0;height:3000px'><script>addEventListener('scroll', () => alert('scrolled'), {once: true})</script>",
        steps: &[has(
            "scroll",
            &["down"],
            &[
                "container: the window",
                "dialog: alert \"scrolled\" was accepted",
            ],
        )],
    },
    Case {
        name: "alert-while-loading",
        html: "<h1>Here</h1><script>if (location.search) alert('loading')</script>",
        steps: &[does(
            "navigate",
            &["{url}?again"],
            "url: {url}?again\ntitle: alert-while-loading\nstatus: 200 OK\ndialog: alert \"loading\" was accepted",
        )],
    },
    Case {
        name: "alert-on-load-and-pageshow",
        html: "<h1>Here</h1><script>if (location.search) { addEventListener('load', () => alert('load')); addEventListener('pageshow', () => alert('pageshow')) }</script>",
        steps: &[does(
            "navigate",
            &["{url}?again"],
            "url: {url}?again\ntitle: alert-on-load-and-pageshow\nstatus: 200 OK\ndialog: alert \"load\" was accepted\ndialog: alert \"pageshow\" was accepted",
        )],
    },
    Case {
        name: "prompt-and-confirm-in-a-row",
        html: "<button id=a onclick=\"window.said = [confirm('One?'), prompt('Two?', 'x'), confirm('Three?')]\">Ask</button>",
        steps: &[
            does(
                "click",
                &["#a"],
                "clicked button \"Ask\"\ndialog: confirm \"One?\" was accepted\ndialog: prompt \"Two?\" was dismissed\ndialog: confirm \"Three?\" was accepted",
            ),
            does("eval", &["return said"], "[true,null,true]"),
        ],
    },
    Case {
        name: "beforeunload",
        html: "<button id=a>Edit</button><a href='/second.html'>Away</a><script>addEventListener('beforeunload', event => event.preventDefault())</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Edit\""),
            does(
                "click",
                &["text=Away"],
                "clicked link \"Away\": it opened another page\nurl: {site}/second.html\ntitle: Second\nstatus: 200 OK\ndialog: the page asked whether to leave it: accepted",
            ),
        ],
    },
    Case {
        name: "beforeunload-on-navigate",
        html: "<button id=a>Edit</button><script>addEventListener('beforeunload', event => event.preventDefault())</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Edit\""),
            does(
                "navigate",
                &["{site}/second.html"],
                "url: {site}/second.html\ntitle: Second\nstatus: 200 OK\ndialog: the page asked whether to leave it: accepted",
            ),
        ],
    },
    Case {
        name: "a-flood-of-alerts",
        html: "<button id=a onclick=\"for (let n = 0; n < 25; n++) alert('again')\">Flood</button>",
        steps: &[has(
            "click",
            &["#a"],
            &[
                "clicked button \"Flood\"",
                "dialog: alert \"again\" was accepted",
                "dialog: 5 more dialogs (alert) were answered",
            ],
        )],
    },
    Case {
        name: "half-a-character-in-an-alert",
        html: "<button id=a onclick=\"alert('half \\ud83d')\">Say</button>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked button \"Say\"\ndialog: alert \"half \u{fffd}\" was accepted",
        )],
    },
    Case {
        name: "alert-from-a-frame",
        html: "<iframe title=Inner srcdoc=\"<button onclick='alert(`inner`)'>Inside</button>\"></iframe>",
        steps: &[does(
            "click",
            &["text=Inside"],
            "clicked button \"Inside\"\ndialog: alert \"inner\" was accepted",
        )],
    },
    Case {
        name: "alert-before-a-screenshot",
        html: "<h1>Here</h1><script>setTimeout(() => alert('timer'), 300)</script>",
        steps: &[
            has(
                "eval",
                &["await new Promise(done => setTimeout(done, 500))"],
                &["undefined", "dialog: alert \"timer\" was accepted"],
            ),
            has("screenshot", &[], &["screenshots/latest.jpg"]),
        ],
    },
];
