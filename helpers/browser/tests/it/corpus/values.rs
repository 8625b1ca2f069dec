//! Filling what is no text: lists, dates, numbers, files, and what takes no value at all.

use super::{Case, does, refuses};

#[test]
fn values_are_set_as_their_field_wants_them() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "a-native-select",
        html: "<select id=a aria-label=Town><optgroup label=South><option value=m>Munich</option></optgroup><optgroup label=North disabled><option value=h>Hamburg</option></optgroup><option value=''>None</option></select>",
        steps: &[
            does(
                "fill",
                &["#a", "  Munich "],
                "filled combobox \"Town\"\nselected: \"Munich\"",
            ),
            does(
                "fill",
                &["#a", ""],
                "filled combobox \"Town\"\nselected: \"None\"",
            ),
            refuses(
                "fill",
                &["#a", "h"],
                "#a can't be filled: its option \"h\" is disabled (waited 1 s)",
            ),
            refuses(
                "fill",
                &["#a", "Berlin"],
                "#a can't be filled: it has no option \"Berlin\"; its options are \"Munich\", \"Hamburg\", \"None\" (waited 1 s)",
            ),
        ],
    },
    Case {
        name: "a-select-that-was-clicked",
        html: "<select id=a aria-label=Town><option>Ulm<option id=o>Bonn</select><button id=b>After</button>",
        steps: &[
            does("click", &["#a"], "clicked combobox \"Town\""),
            refuses(
                "click",
                &["#o"],
                "<option id=\"o\">Bonn</option> is an option of <select id=\"a\" aria-label=\"Town\">…</select>; choose it with browser_fill on that",
            ),
            does(
                "fill",
                &["#a", "Bonn"],
                "filled combobox \"Town\"\nselected: \"Bonn\"",
            ),
            does("click", &["#b"], "clicked button \"After\""),
        ],
    },
    Case {
        name: "options-that-come-later",
        html: "<select id=a aria-label=Town></select><script>setTimeout(() => { a.innerHTML = '<option>Ulm<option>Bonn' }, 500)</script>",
        steps: &[does(
            "fill",
            &["#a", "Bonn"],
            "filled combobox \"Town\"\nselected: \"Bonn\"",
        )],
    },
    Case {
        name: "a-list-of-several",
        html: "<select id=a aria-label=Days multiple><option>Mon<option>Tue<option selected>Wed</select>",
        steps: &[
            does(
                "fill",
                &["#a", "Mon\nTue"],
                "filled listbox \"Days\"\nselected: \"Mon\", \"Tue\"",
            ),
            does(
                "fill",
                &["#a", ""],
                "filled listbox \"Days\"\nselected: \"\"",
            ),
        ],
    },
    Case {
        name: "dates-with-limits",
        html: "<input id=a type=date aria-label=Day min=2026-01-01>",
        steps: &[
            does(
                "fill",
                &["#a", "2026-02-28"],
                "filled textbox \"Day\"\nvalue: \"2026-02-28\"",
            ),
            does(
                "fill",
                &["#a", "2025-12-31"],
                "filled textbox \"Day\"\nvalue: \"2025-12-31\"\nnote: the field does not accept it: Value must be 01/01/2026 or later.",
            ),
            refuses(
                "fill",
                &["#a", "2026-02-30"],
                "\"2026-02-30\" is no value for <input id=\"a\" type=\"date\" aria-label=\"Day\" min=\"2026-01-01\"/>; it takes a date such as 2026-03-01",
            ),
            does("fill", &["#a", ""], "filled textbox \"Day\"\nvalue: \"\""),
        ],
    },
    Case {
        name: "times-colours-and-sliders",
        html: "<input id=t type=time aria-label=At><input id=c type=color aria-label=Tint><input id=r type=range min=-1 max=1 step=0.5 aria-label=Bias>",
        steps: &[
            does(
                "fill",
                &["#t", "07:05"],
                "filled textbox \"At\"\nvalue: \"07:05\"",
            ),
            refuses(
                "fill",
                &["#t", "7 pm"],
                "\"7 pm\" is no value for <input id=\"t\" type=\"time\" aria-label=\"At\"/>; it takes a time such as 13:45",
            ),
            does(
                "fill",
                &["#c", " #FFAA00 "],
                "filled textbox \"Tint\"\nvalue: \"#ffaa00\"",
            ),
            refuses(
                "fill",
                &["#c", "red"],
                "\"red\" is no value for <input id=\"c\" type=\"color\" aria-label=\"Tint\"/>; it takes a colour such as #1a2b3c",
            ),
            does(
                "fill",
                &["#r", "0.5"],
                "filled slider \"Bias\"\nvalue: \"0.5\"",
            ),
            refuses(
                "fill",
                &["#r", "0.7"],
                "\"0.7\" is no value for <input id=\"r\" max=\"1\" min=\"-1\" step=\"0.5\" type=\"range\" aria-label=\"Bias\"/>; it takes a number from -1 to 1 in steps of 0.5",
            ),
        ],
    },
    Case {
        name: "numbers",
        html: "<input id=a type=number aria-label=Count>",
        steps: &[
            does(
                "fill",
                &["#a", "42"],
                "filled spinbutton \"Count\"\nvalue: \"42\"",
            ),
            does(
                "type",
                &["#a", "0"],
                "typed 1 character into spinbutton \"Count\"\nvalue: \"420\"",
            ),
            refuses(
                "fill",
                &["#a", "forty"],
                "\"forty\" is no number, and <input id=\"a\" type=\"number\" aria-label=\"Count\"/> takes nothing else",
            ),
        ],
    },
    Case {
        name: "a-file-field",
        html: "<label>CV <input id=a type=file></label>",
        steps: &[
            refuses(
                "fill",
                &["#a", "cv.pdf"],
                "<input id=\"a\" type=\"file\"/> takes files, and no tool can choose one here",
            ),
            does(
                "click",
                &["#a"],
                "clicked button \"CV\"\nfile chooser: the page asked for a file; it was cancelled, no tool can choose one here",
            ),
        ],
    },
    Case {
        name: "what-is-no-field",
        html: "<p id=p>Words</p><input id=c type=checkbox><input id=s type=submit><div id=d role=combobox tabindex=0>Pick</div>",
        steps: &[
            refuses(
                "fill",
                &["#p", "x"],
                "<p id=\"p\">Words</p> is no <input>, <textarea>, <select> or editable element",
            ),
            refuses(
                "fill",
                &["#c", "x"],
                "<input id=\"c\" type=\"checkbox\"/> takes no value; browser_click switches it",
            ),
            refuses(
                "fill",
                &["#s", "x"],
                "<input id=\"s\" type=\"submit\"/> takes no value; browser_click presses it",
            ),
            refuses(
                "fill",
                &["#d", "x"],
                "<div id=\"d\" tabindex=\"0\" role=\"combobox\">Pick</div> is no <input>, <textarea>, <select> or editable element; open it and click an option with browser_click",
            ),
        ],
    },
];
