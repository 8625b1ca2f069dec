//! Typing and filling: every kind of field, and pages that meddle with what is put in.

use super::{Case, does, has, refuses};

#[test]
fn fields_take_what_a_person_would_enter() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "any-unicode",
        html: "<input id=a aria-label=Text>",
        steps: &[
            does(
                "fill",
                &["#a", "né 👩‍👩‍👧 שלום e\u{301} 中"],
                "filled textbox \"Text\"\nvalue: \"né 👩‍👩‍👧 שלום e\u{301} 中\"",
            ),
            does("fill", &["#a", ""], "filled textbox \"Text\"\nvalue: \"\""),
            does(
                "type",
                &["#a", "né 👩‍👩‍👧 שלום e\u{301} 中"],
                "typed 18 characters into textbox \"Text\"\nvalue: \"né 👩‍👩‍👧 שלום e\u{301} 中\"",
            ),
        ],
    },
    Case {
        name: "keys-are-pressed",
        html: "<input id=a aria-label=Text><script>window.keys = []; for (const name of ['keydown', 'keypress', 'beforeinput', 'input', 'keyup']) a.addEventListener(name, event => keys.push(name + ':' + (event.key ?? event.data) + (event.code ? '/' + event.code : '')))</script>",
        steps: &[
            does(
                "type",
                &["#a", "A?"],
                "typed 2 characters into textbox \"Text\"\nvalue: \"A?\"",
            ),
            does(
                "eval",
                &["return keys.join(' ')"],
                "\"keydown:A/KeyA keypress:A/KeyA beforeinput:A input:A keyup:A/KeyA keydown:?/Slash keypress:?/Slash beforeinput:? input:? keyup:?/Slash\"",
            ),
        ],
    },
    Case {
        name: "one-input-event-a-fill",
        html: "<input id=a aria-label=Text value=old><script>window.seen = []; for (const name of ['focus', 'beforeinput', 'input', 'change']) a.addEventListener(name, event => seen.push(name + ':' + a.value))</script>",
        steps: &[
            does(
                "fill",
                &["#a", "new"],
                "filled textbox \"Text\"\nvalue: \"new\"",
            ),
            does(
                "eval",
                &["a.blur(); return seen"],
                "[\"focus:old\",\"beforeinput:old\",\"input:new\",\"change:new\"]",
            ),
        ],
    },
    Case {
        name: "ten-thousand-characters",
        html: "<textarea id=a aria-label=Essay></textarea><button onclick=\"a.value = 'x'.repeat(10000)\">Long</button>",
        steps: &[
            does("click", &["text=Long"], "clicked button \"Long\""),
            does(
                "fill",
                &["#a", "short"],
                "filled textbox \"Essay\"\nvalue: \"short\"",
            ),
        ],
    },
    Case {
        name: "lines-in-a-textarea",
        html: "<textarea id=a aria-label=Note></textarea>",
        steps: &[
            does(
                "fill",
                &["#a", "one\ntwo\n\nfour"],
                "filled textbox \"Note\"\nvalue: \"one\\ntwo\\n\\nfour\"",
            ),
            does(
                "type",
                &["#a", "\nfive"],
                "typed 5 characters into textbox \"Note\"\nvalue: \"one\\ntwo\\n\\nfour\\nfive\"",
            ),
        ],
    },
    Case {
        name: "enter-sends-the-form",
        html: "<form action=/second.html><input id=a name=q aria-label=Query></form>",
        steps: &[does(
            "type",
            &["#a", "lamp\n"],
            "typed 5 characters into textbox \"Query\": it opened another page\nurl: {site}/second.html?q=lamp\ntitle: Second\nstatus: 200 OK",
        )],
    },
    Case {
        name: "typing-stops-where-the-page-ends",
        html: "<form action=/second.html><input id=a name=q aria-label=Query></form>",
        steps: &[does(
            "type",
            &["#a", "a\nsecret"],
            "typed 2 characters into textbox \"Query\", 6 were left when the page went elsewhere: it opened another page\nurl: {site}/second.html?q=a\ntitle: Second\nstatus: 200 OK",
        )],
    },
    Case {
        name: "tab-moves-on",
        html: "<input id=a aria-label=First><input id=b aria-label=Second>",
        steps: &[
            does(
                "type",
                &["#a", "x\ty"],
                "typed 3 characters into textbox \"First\"\nvalue: \"x\"\nnote: the field does not hold the text as typed; the page or the field changed it",
            ),
            does("eval", &["return [a.value, b.value]"], "[\"x\",\"y\"]"),
        ],
    },
    Case {
        name: "one-box-a-digit",
        html: "<div id=row></div><script>for (let n = 0; n < 4; n++) { const box = document.createElement('input'); box.maxLength = 1; box.id = 'd' + n; box.setAttribute('aria-label', 'Digit ' + n); box.oninput = () => document.getElementById('d' + (n + 1))?.focus(); row.append(box) }</script>",
        steps: &[
            does(
                "type",
                &["#d0", "1234"],
                "typed 4 characters into textbox \"Digit 0\"\nvalue: \"1\"\nnote: the field does not hold the text as typed; the page or the field changed it",
            ),
            does(
                "eval",
                &["return [...document.querySelectorAll('input')].map(box => box.value).join('')"],
                "\"1234\"",
            ),
        ],
    },
    Case {
        name: "a-field-that-formats",
        html: "<input id=a aria-label=Phone oninput=\"this.value = this.value.replace(/\\D/g, '').replace(/(\\d{3})(?=\\d)/g, '$1-')\">",
        steps: &[
            does(
                "fill",
                &["#a", "123456"],
                "filled textbox \"Phone\"\nvalue: \"123-456\"\nnote: that is not what was asked for; the page or the field changed it",
            ),
            does("fill", &["#a", ""], "filled textbox \"Phone\"\nvalue: \"\""),
        ],
    },
    Case {
        name: "a-field-that-refuses-keys",
        html: "<input id=a aria-label=Fixed onkeydown='event.preventDefault()'>",
        steps: &[does(
            "type",
            &["#a", "abc"],
            "typed 3 characters into textbox \"Fixed\"\nvalue: \"\"\nnote: the field does not hold the text as typed; the page or the field changed it",
        )],
    },
    Case {
        name: "a-field-that-gives-the-focus-away",
        html: "<input id=a aria-label=Trap onfocus='b.focus()'><input id=b aria-label=Other>",
        steps: &[refuses(
            "fill",
            &["#a", "x"],
            "#a can't be filled: the element does not take the focus, <input id=\"b\" aria-label=\"Other\"/> has it (waited 1 s)",
        )],
    },
    Case {
        name: "a-covered-field",
        html: "<input id=a aria-label=Name><div id=cover style='position:fixed;inset:0'></div>",
        steps: &[
            refuses(
                "fill",
                &["#a", "x"],
                "#a can't be filled: <div id=\"cover\"></div> intercepts pointer events (waited 1 s)",
            ),
            refuses(
                "type",
                &["#a", "x"],
                "#a can't be typed into: <div id=\"cover\"></div> intercepts pointer events (waited 1 s)",
            ),
        ],
    },
    Case {
        name: "a-floating-label",
        html: "<div style='position:relative'><input id=a placeholder=' '><label for=a style='position:absolute;inset:0'>Email</label></div>",
        steps: &[does(
            "fill",
            &["#a", "a@b.example"],
            "filled textbox \"Email\"\nvalue: \"a@b.example\"",
        )],
    },
    Case {
        name: "writable-later",
        html: "<input id=a aria-label=Name readonly><script>setTimeout(() => { a.readOnly = false }, 500)</script>",
        steps: &[does(
            "fill",
            &["#a", "Ada"],
            "filled textbox \"Name\"\nvalue: \"Ada\"",
        )],
    },
    Case {
        name: "a-disabled-field",
        html: "<input id=a aria-label=Name disabled>",
        steps: &[refuses(
            "fill",
            &["#a", "x"],
            "#a can't be filled: the element is disabled (waited 1 s)",
        )],
    },
    Case {
        name: "a-label-means-its-field",
        html: "<label id=l>Street <input></label><label id=m for=n>Town</label><input id=n>",
        steps: &[
            does(
                "fill",
                &["#l", "Main"],
                "filled textbox \"Street\"\nvalue: \"Main\"",
            ),
            does(
                "type",
                &["text=Town", "Ulm"],
                "typed 3 characters into textbox \"Town\"\nvalue: \"Ulm\"",
            ),
        ],
    },
    Case {
        name: "a-field-in-a-shadow-root",
        html: "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<input aria-label=Inner>'</script>",
        steps: &[
            does(
                "fill",
                &["role=textbox[name=\"Inner\"]", "x"],
                "filled textbox \"Inner\"\nvalue: \"x\"",
            ),
            does(
                "type",
                &["role=textbox[name=\"Inner\"]", "y"],
                "typed 1 character into textbox \"Inner\"\nvalue: \"xy\"",
            ),
        ],
    },
    Case {
        name: "secrets-are-not-shown",
        html: "<input id=a type=password aria-label=Pass><input id=b autocomplete=one-time-code aria-label=Code>",
        steps: &[
            does(
                "fill",
                &["#a", "hunter2"],
                "filled textbox \"Pass\"\nvalue: •••••• (7 characters, not shown)",
            ),
            does(
                "type",
                &["#b", "123456"],
                "typed 6 characters into textbox \"Code\"\nvalue: •••••• (6 characters, not shown)",
            ),
        ],
    },
    Case {
        name: "keys-for-what-holds-nothing",
        html: "<div id=a tabindex=0 role=application aria-label=Game onkeydown='window.key = event.key'>Play</div>",
        steps: &[
            does(
                "type",
                &["#a", "w"],
                "typed 1 character into application \"Game\"",
            ),
            does("eval", &["return window.key"], "\"w\""),
        ],
    },
    Case {
        name: "an-editable-region",
        html: "<div id=a contenteditable aria-label=Story role=textbox>Old <b>words</b></div>",
        steps: &[
            does(
                "type",
                &["#a", "My "],
                "typed 3 characters into textbox \"Story\"\nvalue: \"My Old words\"",
            ),
            does(
                "fill",
                &["#a", "All new"],
                "filled textbox \"Story\"\nvalue: \"All new\"",
            ),
            does("fill", &["#a", ""], "filled textbox \"Story\"\nvalue: \"\""),
        ],
    },
    Case {
        name: "lines-in-an-editable-region",
        html: "<div id=a contenteditable aria-label=Story role=textbox>Old</div>",
        steps: &[
            does(
                "fill",
                &["#a", "one\ntwo"],
                "filled textbox \"Story\"\nvalue: \"one\\ntwo\"",
            ),
            does(
                "type",
                &["#a", "\nthree"],
                "typed 6 characters into textbox \"Story\"\nvalue: \"one\\ntwo\\nthree\"",
            ),
        ],
    },
    Case {
        name: "one-paragraph-of-an-editor",
        html: "<div contenteditable aria-label=Story role=textbox><p id=a>One</p><p id=b>Two</p></div>",
        steps: &[
            has("fill", &["#b", "Three"], &["value: \"Three\""]),
            does(
                "eval",
                &["return [a.textContent, b.textContent]"],
                "[\"One\",\"Three\"]",
            ),
        ],
    },
    Case {
        name: "suggestions-that-are-fetched",
        html: "<input id=a role=combobox aria-label=Town aria-expanded=false><ul id=list role=listbox hidden></ul><script>a.oninput = async () => { await fetch('/slow'); list.hidden = false; list.innerHTML = '<li role=option>Ulm</li>'; a.setAttribute('aria-expanded', 'true'); list.onclick = () => { a.value = 'Ulm!'; list.hidden = true } }</script>",
        steps: &[
            does(
                "type",
                &["#a", "U"],
                "typed 1 character into combobox \"Town\"\nvalue: \"U\"",
            ),
            does(
                "click",
                &["role=option[name=\"Ulm\"]"],
                "clicked option \"Ulm\"",
            ),
            does("eval", &["return a.value"], "\"Ulm!\""),
        ],
    },
];
