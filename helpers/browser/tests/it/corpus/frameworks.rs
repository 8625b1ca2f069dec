//! Fields that a framework owns, from npm: React, Vue, Quill and CodeMirror.

use super::{Case, does, has};

#[test]
fn frameworks_see_what_is_entered() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "react-controlled",
        html: REACT_FORM,
        steps: &[
            does(
                "fill",
                &["role=textbox[name=\"Name\"]", "Ada"],
                "filled textbox \"Name\"\nvalue: \"Ada\"",
            ),
            does(
                "type",
                &["role=textbox[name=\"Name\"]", " L."],
                "typed 3 characters into textbox \"Name\"\nvalue: \"Ada L.\"",
            ),
            does(
                "fill",
                &["role=textbox[name=\"Upper\"]", "abc"],
                "filled textbox \"Upper\"\nvalue: \"ABC\"\nnote: that is not what was asked for; the page or the field changed it",
            ),
            does(
                "fill",
                &["role=spinbutton", "7"],
                "filled spinbutton \"Count\"\nvalue: \"7\"",
            ),
            does(
                "fill",
                &["role=combobox", "Blue"],
                "filled combobox \"Colour\"\nselected: \"Blue\"",
            ),
            does(
                "fill",
                &["role=slider", "30"],
                "filled slider \"Size\"\nvalue: \"30\"",
            ),
            does(
                "fill",
                &["css=[type=date]", "2026-03-01"],
                "filled textbox \"Day\"\nvalue: \"2026-03-01\"",
            ),
            does(
                "click",
                &["role=checkbox"],
                "clicked checkbox \"Agree\"\nstates: [checked] now, none before",
            ),
            does(
                "eval",
                &["return JSON.parse(document.querySelector('output').textContent)"],
                "{\"name\":\"Ada L.\",\"upper\":\"ABC\",\"count\":\"7\",\"colour\":\"b\",\"size\":\"30\",\"day\":\"2026-03-01\",\"agree\":true}",
            ),
        ],
    },
    Case {
        name: "react-emptied",
        html: REACT_FORM,
        steps: &[
            does(
                "fill",
                &["role=textbox[name=\"Name\"]", "Ada"],
                "filled textbox \"Name\"\nvalue: \"Ada\"",
            ),
            does(
                "fill",
                &["role=textbox[name=\"Name\"]", ""],
                "filled textbox \"Name\"\nvalue: \"\"",
            ),
            does(
                "eval",
                &["return JSON.parse(document.querySelector('output').textContent).name"],
                "\"\"",
            ),
        ],
    },
    Case {
        name: "react-that-refuses-change",
        html: "<div id=root></div><script src=/npm/react.js></script><script src=/npm/react-dom.js></script><script>ReactDOM.createRoot(root).render(React.createElement('input', {'aria-label': 'Fixed', value: 'same', onChange() {}}))</script>",
        steps: &[does(
            "fill",
            &["role=textbox", "other"],
            "filled textbox \"Fixed\"\nvalue: \"same\"\nnote: that is not what was asked for; the page or the field changed it",
        )],
    },
    Case {
        name: "vue-models",
        html: "<div id=app><input aria-label=Name v-model=name><input aria-label=Count v-model.number=count type=number><select aria-label=Colour v-model=colour><option value=r>Red</option><option value=b>Blue</option></select><textarea aria-label=Note v-model.lazy=note></textarea><label><input type=checkbox v-model=agree>Agree</label><output>{{ JSON.stringify({name, count, colour, note, agree}) }}</output></div><script src=/npm/vue.js></script><script>Vue.createApp({data: () => ({name: '', count: 1, colour: 'r', note: '', agree: false})}).mount('#app')</script>",
        steps: &[
            does(
                "type",
                &["role=textbox[name=\"Name\"]", "Grüß"],
                "typed 4 characters into textbox \"Name\"\nvalue: \"Grüß\"",
            ),
            does(
                "fill",
                &["role=spinbutton", "12"],
                "filled spinbutton \"Count\"\nvalue: \"12\"",
            ),
            does(
                "fill",
                &["role=combobox", "b"],
                "filled combobox \"Colour\"\nselected: \"Blue\"",
            ),
            does(
                "fill",
                &["role=textbox[name=\"Note\"]", "a\nb"],
                "filled textbox \"Note\"\nvalue: \"a\\nb\"",
            ),
            does(
                "click",
                &["text=Agree >> nth=0"],
                "clicked <label>…</label>",
            ),
            does(
                "eval",
                &["return JSON.parse(document.querySelector('output').textContent)"],
                "{\"name\":\"Grüß\",\"count\":12,\"colour\":\"b\",\"note\":\"a\\nb\",\"agree\":true}",
            ),
        ],
    },
    Case {
        name: "quill-editor",
        html: "<div id=editor></div><script src=/npm/quill.js></script><script>window.quill = new Quill('#editor', {modules: {toolbar: false}})</script>",
        steps: &[
            has(
                "type",
                &[".ql-editor", "Dear 🙂\nAda"],
                &["value: \"Dear 🙂\\n\\nAda\""],
            ),
            does("eval", &["return quill.getText()"], "\"Dear 🙂\\nAda\\n\""),
            has("fill", &[".ql-editor", "Anew"], &["value: \"Anew\""]),
            does("eval", &["return quill.getText()"], "\"Anew\\n\""),
        ],
    },
    Case {
        name: "codemirror-editor",
        html: "<style>.CodeMirror{height:200px;border:1px solid;position:relative;overflow:hidden}</style><div id=box></div><link rel=stylesheet href=/npm/codemirror.css><script src=/npm/codemirror.js></script><script>window.editor = CodeMirror(box, {value: 'one'})</script>",
        steps: &[
            has("click", &[".CodeMirror-lines"], &[]),
            has("type", &[".CodeMirror textarea", " two\nthree"], &[]),
            does("eval", &["return editor.getValue()"], "\"one two\\nthree\""),
        ],
    },
];

const REACT_FORM: &str = "<div id=root></div><script src=/npm/react.js></script><script src=/npm/react-dom.js></script><script>
const make = React.createElement;
function Form() {
  const [all, set] = React.useState({name: '', upper: '', count: '1', colour: 'r', size: '10', day: '', agree: false});
  const bind = (key, change = value => value) => ({value: all[key], onChange: event => set({...all, [key]: change(event.target.value)})});
  return make('form', null,
    make('input', {'aria-label': 'Name', ...bind('name')}),
    make('input', {'aria-label': 'Upper', ...bind('upper', value => value.toUpperCase())}),
    make('input', {'aria-label': 'Count', type: 'number', ...bind('count')}),
    make('select', {'aria-label': 'Colour', ...bind('colour')}, make('option', {value: 'r'}, 'Red'), make('option', {value: 'b'}, 'Blue')),
    make('input', {'aria-label': 'Size', type: 'range', ...bind('size')}),
    make('input', {'aria-label': 'Day', type: 'date', ...bind('day')}),
    make('input', {'aria-label': 'Agree', type: 'checkbox', checked: all.agree, onChange: event => set({...all, agree: event.target.checked})}),
    make('output', null, JSON.stringify(all)));
}
ReactDOM.createRoot(root).render(make(Form));
</script>";
