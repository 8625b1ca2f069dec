//! Clicking: what is in the way, what moves, what is not there yet.

use super::{Case, does, has, refuses};

#[test]
fn clicks_do_what_a_person_would_see() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "overlay",
        html: "<button id=a>Buy</button><div id=cover style='position:fixed;inset:0'></div>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: <div id=\"cover\"></div> intercepts pointer events (waited 1 s)",
        )],
    },
    Case {
        name: "overlay-that-goes",
        html: "<button id=a onclick=\"this.textContent='Bought'\">Buy</button><div id=cover style='position:fixed;inset:0'></div><script>setTimeout(() => cover.remove(), 700)</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Buy\""),
            does("eval", &["return a.textContent"], "\"Bought\""),
        ],
    },
    Case {
        name: "cookie-banner-over-link",
        html: "<a id=a href='#x' style='position:fixed;bottom:10px'>Terms</a><section aria-label=Cookies style='position:fixed;bottom:0;left:0;right:0;height:100px;background:#ccc'><p id=words style='margin:0;height:100px'>We use cookies</p></section>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: <p id=\"words\">We use cookies</p> from <section aria-label=\"Cookies\">…</section> subtree intercepts pointer events (waited 1 s)",
        )],
    },
    Case {
        name: "moving-then-still",
        html: "<style>@keyframes go{from{margin-left:0}to{margin-left:300px}}#a{animation:go .6s linear}</style><button id=a onclick=\"this.textContent='Caught'\">Catch</button>",
        steps: &[
            does("click", &["#a"], "clicked button \"Catch\""),
            does("eval", &["return a.textContent"], "\"Caught\""),
        ],
    },
    Case {
        name: "moving-for-ever",
        html: "<style>@keyframes go{from{margin-left:0}to{margin-left:300px}}#a{animation:go 1s linear infinite alternate}</style><button id=a>Catch</button>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is moving (waited 1 s)",
        )],
    },
    Case {
        name: "disabled",
        html: "<button id=a disabled>Send</button>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is disabled (waited 1 s)",
        )],
    },
    Case {
        name: "enabled-later",
        html: "<button id=a disabled onclick=\"this.textContent='Sent'\">Send</button><script>setTimeout(() => { a.disabled = false }, 500)</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Send\""),
            does("eval", &["return a.textContent"], "\"Sent\""),
        ],
    },
    Case {
        name: "disabled-fieldset",
        html: "<fieldset disabled><legend><button id=b>In legend</button></legend><button id=a>In fieldset</button></fieldset>",
        steps: &[
            refuses(
                "click",
                &["#a"],
                "#a can't be clicked: the element is disabled (waited 1 s)",
            ),
            does("click", &["#b"], "clicked button \"In legend\""),
        ],
    },
    Case {
        name: "aria-disabled",
        html: "<div role=toolbar aria-disabled=true><button id=a>Cut</button></div>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is disabled (waited 1 s)",
        )],
    },
    Case {
        name: "below-the-fold",
        html: "<div style='height:4000px'></div><button id=a onclick=\"this.textContent='Found'\">Far</button><div style='height:4000px'></div>",
        steps: &[
            does("click", &["#a"], "clicked button \"Far\""),
            does(
                "eval",
                &["return [a.textContent, scrollY > 3000]"],
                "[\"Found\",true]",
            ),
        ],
    },
    Case {
        name: "in-a-panel",
        html: "<div style='height:200px;overflow:auto'><div style='height:3000px'></div><button id=a onclick=\"this.textContent='Found'\">Deep</button></div>",
        steps: &[
            does("click", &["#a"], "clicked button \"Deep\""),
            does("eval", &["return a.textContent"], "\"Found\""),
        ],
    },
    Case {
        name: "in-nested-panels",
        html: "<div style='width:300px;height:200px;overflow:auto'><div style='width:2000px;height:900px;padding:800px'><div style='width:200px;height:100px;overflow:auto'><div style='height:700px'></div><button id=a onclick=\"this.textContent='Found'\">Deeper</button></div></div></div>",
        steps: &[
            does("click", &["#a"], "clicked button \"Deeper\""),
            does("eval", &["return a.textContent"], "\"Found\""),
        ],
    },
    Case {
        name: "sticky-header",
        html: "<header style='position:sticky;top:0;height:300px;background:#ddd'>Head</header><div style='height:2000px'></div><button id=a onclick=\"this.textContent='Found'\">Under</button><div style='height:3000px'></div><script>scrollTo(0, 2250)</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Under\""),
            does("eval", &["return a.textContent"], "\"Found\""),
        ],
    },
    Case {
        name: "not-displayed",
        html: "<button id=a style='display:none'>Ghost</button>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is not visible (waited 1 s)",
        )],
    },
    Case {
        name: "without-size",
        html: "<div id=a onclick='x' style='width:0;height:0;overflow:hidden'>Ghost</div>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is not visible (waited 1 s)",
        )],
    },
    Case {
        name: "shown-later",
        html: "<button id=a style='visibility:hidden' onclick=\"this.textContent='Seen'\">Soon</button><script>setTimeout(() => { a.style.visibility = 'visible' }, 500)</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Soon\""),
            does("eval", &["return a.textContent"], "\"Seen\""),
        ],
    },
    Case {
        name: "added-later",
        html: "<p>Loading</p><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<button onclick=\"this.textContent=1\">Late</button>'), 500)</script>",
        steps: &[
            does(
                "click",
                &["role=button[name=\"Late\"]"],
                "clicked button \"Late\"",
            ),
            does(
                "eval",
                &["return document.querySelector('button').textContent"],
                "\"1\"",
            ),
        ],
    },
    Case {
        name: "no-pointer-events",
        html: "<div id=back style='height:60px'><button id=a style='pointer-events:none'>Dead</button></div>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: <div id=\"back\">…</div> intercepts pointer events (waited 1 s)",
        )],
    },
    Case {
        name: "outside-of-the-page",
        html: "<button id=a style='position:fixed;left:-500px'>Gone</button>",
        steps: &[refuses(
            "click",
            &["#a"],
            "#a can't be clicked: the element is outside of the viewport and can't be scrolled into it (waited 1 s)",
        )],
    },
    Case {
        name: "hidden-checkbox-of-a-label",
        html: "<style>input{position:absolute;opacity:0;width:1px;height:1px}</style><label><input id=a type=checkbox> Newsletter</label>",
        steps: &[
            does(
                "click",
                &["#a"],
                "clicked checkbox \"Newsletter\"\nstates: [checked] now, none before",
            ),
            does("eval", &["return a.checked"], "true"),
        ],
    },
    Case {
        name: "radio-under-its-label",
        html: "<div style='position:relative'><input id=a type=radio name=r><label for=a style='position:absolute;inset:0'>Express</label></div>",
        steps: &[does(
            "click",
            &["role=radio[name=\"Express\"]"],
            "clicked radio \"Express\"\nstates: [checked] now, none before",
        )],
    },
    Case {
        name: "labels-away-from-their-fields",
        html: "<input type=checkbox id=a><p>between</p><label for=a>Agree <b>now</b></label><input type=file id=f hidden><label for=f>Upload</label>",
        steps: &[
            has("click", &["text=Agree"], &[]),
            does(
                "eval",
                &["return document.querySelector('#a').checked"],
                "true",
            ),
            has("click", &["text=now"], &[]),
            does(
                "eval",
                &["return document.querySelector('#a').checked"],
                "false",
            ),
            has(
                "click",
                &["text=Upload"],
                &[
                    "file chooser: the page asked for a file; it was cancelled, no tool can choose one here",
                ],
            ),
        ],
    },
    Case {
        name: "a-checkbox-that-stays",
        html: "<input id=a type=checkbox aria-label=Stuck onclick='event.preventDefault()'>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked checkbox \"Stuck\"\nstates: nothing changed, it is still not checked",
        )],
    },
    Case {
        name: "a-toggle-button",
        html: "<button id=a aria-pressed=false onclick=\"this.setAttribute('aria-pressed', 'true')\">Bold</button>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked button \"Bold\"\nstates: [pressed] now, none before",
        )],
    },
    Case {
        name: "a-menu-that-opens",
        html: "<button id=a aria-expanded=false aria-haspopup=true onclick=\"this.setAttribute('aria-expanded', 'true')\">Menu</button>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked button \"Menu\"\nstates: [expanded] now, none before",
        )],
    },
    Case {
        name: "icon-in-a-button",
        html: "<button aria-label=Search onclick='window.hit = true'><svg id=a width=20 height=20><path d='M0 0h20v20H0z'/></svg></button>",
        steps: &[
            does(
                "click",
                &["#a"],
                "clicked <svg id=\"a\" width=\"20\" height=\"20\">…</svg>",
            ),
            does("eval", &["return window.hit"], "true"),
        ],
    },
    Case {
        name: "a-link-over-two-lines",
        html: "<div style='width:120px;font:20px monospace'>word word <a id=a href='#hit'>link link link</a></div>",
        steps: &[does(
            "click",
            &["#a"],
            "clicked link \"link link link\"\nurl: {url}#hit",
        )],
    },
    Case {
        name: "in-shadow-roots",
        html: "<div id=host></div><script>const one = host.attachShadow({mode: 'open'}); one.innerHTML = '<p id=inner></p>'; const two = one.querySelector('p').attachShadow({mode: 'open'}); two.innerHTML = '<button>Deep</button>'; two.querySelector('button').onclick = event => { event.target.textContent = 'Hit' }</script>",
        steps: &[
            does("click", &["text=Deep"], "clicked button \"Deep\""),
            has("snapshot", &[], &["  - button \"Hit\""]),
        ],
    },
    Case {
        name: "in-a-scaled-frame-far-below",
        html: "<div style='height:2500px'></div><iframe title=Inner style='transform:scale(.5);border:9px solid;padding:7px' width=400 height=300 srcdoc=\"<div style='height:900px'></div><button onclick='parent.hit = true'>Inside</button>\"></iframe>",
        steps: &[
            does("click", &["text=Inside"], "clicked button \"Inside\""),
            does("eval", &["return window.hit"], "true"),
        ],
    },
    Case {
        name: "a-cover-over-a-frame",
        html: "<iframe title=Inner srcdoc=\"<button>Inside</button>\"></iframe><div id=cover style='position:fixed;inset:0'></div>",
        steps: &[refuses(
            "click",
            &["text=Inside"],
            "text=Inside can't be clicked: <div id=\"cover\"></div> intercepts pointer events (waited 1 s)",
        )],
    },
    Case {
        name: "redrawn-under-the-mouse",
        html: "<div id=box><button onclick='window.hit = true'>Once</button></div><script>box.onmouseover = () => { if (!window.done) { window.done = true; box.innerHTML = box.innerHTML } }</script>",
        steps: &[
            does("click", &["text=Once"], "clicked button \"Once\""),
            does("eval", &["return window.hit"], "true"),
        ],
    },
    Case {
        name: "runs-from-the-mouse",
        html: "<button id=a style='position:absolute;left:100px;top:100px' onclick='window.hit = true'>Catch me</button><button id=trap style='position:absolute;left:100px;top:100px;z-index:-1' onclick='window.trapped = true'>Trap</button><script>a.onmouseover = () => { a.style.left = a.style.left === '100px' ? '300px' : '100px'; trap.style.left = a.style.left === '100px' ? '300px' : '100px' }</script>",
        steps: &[
            refuses(
                "click",
                &["#a"],
                "#a can't be clicked: something else moves under the mouse (waited 1 s)",
            ),
            does(
                "eval",
                &["return [window.hit, window.trapped]"],
                "[null,null]",
            ),
        ],
    },
    Case {
        name: "removes-itself",
        html: "<button id=a onclick='this.remove()'>Dismiss</button>",
        steps: &[
            does("click", &["#a"], "clicked button \"Dismiss\""),
            does(
                "eval",
                &["return document.querySelectorAll('button').length"],
                "0",
            ),
        ],
    },
    Case {
        name: "a-canvas",
        html: "<body style='margin:0'><canvas id=a width=400 height=200 onclick='window.at = [event.offsetX, event.offsetY]'></canvas>",
        steps: &[
            does(
                "click",
                &["#a"],
                "clicked <canvas id=\"a\" width=\"400\" height=\"200\" onclick=\"window.at = [event.offsetX, event.offsetY]\"></canvas>",
            ),
            does("eval", &["return window.at"], "[200,100]"),
        ],
    },
    Case {
        name: "larger-than-the-window",
        html: "<body style='margin:0'><div id=a role=button aria-label=Field style='height:5000px' onclick='window.hit = true'></div>",
        steps: &[
            does("click", &["#a"], "clicked button \"Field\""),
            does("eval", &["return window.hit"], "true"),
        ],
    },
    Case {
        name: "behind-a-modal-dialog",
        html: "<button id=a>Behind</button><dialog id=d style='position:fixed;inset:0;width:90vw;height:90vh'>Really? <button id=b onclick='d.close()'>Yes</button></dialog><script>d.showModal()</script>",
        steps: &[
            refuses(
                "click",
                &["#a"],
                "#a can't be clicked: <dialog open id=\"d\">…</dialog> intercepts pointer events (waited 1 s)",
            ),
            does("click", &["#b"], "clicked button \"Yes\""),
            does("click", &["#a"], "clicked button \"Behind\""),
        ],
    },
    Case {
        name: "several-and-none",
        html: "<button>Same</button><button>Same</button>",
        steps: &[
            refuses(
                "click",
                &["text=Same"],
                "strict mode violation: text=Same resolved to 2 elements\n    1) <button>Same</button> aka button:nth-of-type(1)\n    2) <button>Same</button> aka button:nth-of-type(2)",
            ),
            refuses(
                "click",
                &["text=Other"],
                "no element matches text=Other\nbrowser_snapshot shows what is there now",
            ),
            does("click", &["text=Same >> nth=1"], "clicked button \"Same\""),
        ],
    },
    Case {
        name: "every-event-of-a-click",
        html: "<button id=a>Press</button><script>window.seen = []; for (const name of ['pointerdown', 'mousedown', 'focus', 'pointerup', 'mouseup', 'click']) a.addEventListener(name, event => seen.push(name + (event.isTrusted ? '' : '?')))</script>",
        steps: &[
            does("click", &["#a"], "clicked button \"Press\""),
            does(
                "eval",
                &["return seen.join(' ')"],
                "\"pointerdown mousedown focus pointerup mouseup click\"",
            ),
        ],
    },
];
