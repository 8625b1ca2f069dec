//! Fields: which element takes text, giving it the focus, setting what is no text, and reading back.

const BY_VALUE = {
  color: "a colour such as #1a2b3c",
  date: "a date such as 2026-03-01",
  time: "a time such as 13:45",
  "datetime-local": "a date and time such as 2026-03-01T13:45",
  month: "a month such as 2026-03",
  week: "a week such as 2026-W09",
};
const NO_TEXT = ["checkbox", "radio", "button", "submit", "reset", "image", "file", "hidden"];
const MOST_OPTIONS = 50;
const MOST_SHOWN = 500;
const FIELDS = "input, textarea, select";

/// The field that an element means: itself, or the one its label belongs to.
function fieldOf(element) {
  if (element.matches(FIELDS) || element.isContentEditable) return element;
  const control = closestAcross(element, "label")?.control;
  return control ?? element;
}

/// The element that has the focus while a part of it is edited.
function editingHost(element) {
  let host = element;
  for (let up = parentOrHost(host); up?.isContentEditable; up = parentOrHost(up)) host = up;
  return host;
}

function focusHolder(field) {
  return field.isContentEditable ? editingHost(field) : field;
}

function focused() {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
}

const hasFocus = (field) => document.hasFocus() && focused() === focusHolder(field);

function isReadOnly(field) {
  if (field.matches("input, textarea") && field.readOnly) return true;
  return field.getAttribute("aria-readonly")?.toLowerCase() === "true";
}


/// Refuses for good what no wait makes a field for this.
function checkKind(field, wish) {
  const what = preview(field);
  const type = field.tagName === "INPUT" ? field.type : "";
  if (type === "file") refuse(`${what} takes files, and no tool can choose one here`);
  if (wish === "type") return;
  if (type === "checkbox" || type === "radio") refuse(`${what} takes no value; browser_click switches it`);
  if (NO_TEXT.includes(type)) refuse(`${what} takes no value; browser_click presses it`);
  if (!field.matches(FIELDS) && !field.isContentEditable) {
    const menu = ["combobox", "listbox"].includes(roleOf(field));
    refuse(`${what} is no <input>, <textarea>, <select> or editable element${menu ? "; open it and click an option with browser_click" : ""}`);
  }
}

/// The options that `value` names, by value or label; a list of several has one a line.
function optionsFor(select, value) {
  const wanted = select.multiple ? value.split("\n") : [value];
  const chosen = [];
  for (const one of wanted) {
    if (select.multiple && one === "") continue;
    const is = (option) => option.value === one || normalize(option.label) === normalize(one);
    const option = [...select.options].find((other) => is(other) && !other.disabled) ?? [...select.options].find(is);
    if (!option) return { blocked: `it has no option ${JSON.stringify(one)}; its options are ${optionList(select)}` };
    const off = option.disabled || option.parentElement.matches("optgroup:disabled");
    if (off) return { blocked: `its option ${JSON.stringify(one)} is disabled` };
    chosen.push(option);
  }
  return { chosen };
}

function optionList(select) {
  const labels = [...select.options].slice(0, MOST_OPTIONS).map((option) => JSON.stringify(cut(tidy(option.label), 80)));
  const more = select.options.length - labels.length;
  if (labels.length === 0) return "none";
  return labels.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

let edited = null;

/// Makes the one element of the set ready to take text or a value.
async function prepareField(wish, attempt, value) {
  const element = current[0];
  forget();
  if (!element?.isConnected) return { blocked: "the element left the page", gone: true };
  const field = fieldOf(element);
  checkKind(field, wish);
  if (!isVisible(field)) return { blocked: "the element is not visible" };
  if (disabledOf(field)) return { blocked: "the element is disabled" };
  if (isReadOnly(field)) return { blocked: "the element is read-only" };
  // A field that has the focus gets the keys, whatever lies over it.
  const point = await reach(field, field, attempt, !hasFocus(field));
  if (point.blocked) return point;
  if (wish === "fill" && field.tagName === "SELECT") {
    const { blocked } = optionsFor(field, value);
    if (blocked) return { blocked };
  }
  edited = { field, label: describe(field) };
  return { x: point.x, y: point.y, label: edited.label, toggles: false };
}

/// Puts the caret where text is to go: at the start of a field that had not the
/// focus, else where it is.
function takeFocus() {
  const { field } = edited;
  const holder = focusHolder(field);
  const before = hasFocus(field);
  if (!before) {
    holder.focus({ preventScroll: true });
    if (focused() !== holder) return { blocked: notFocused(holder) };
    if (field.matches("input, textarea")) {
      try {
        field.setSelectionRange(0, 0);
      } catch {
        // Numbers, dates and the like have no caret to set.
      }
    } else if (field !== holder) selectInside(field).collapseToStart();
  }
  // Enter in one line of text may send a form; in several it is a line break.
  return { sends: field.tagName !== "TEXTAREA" && !field.isContentEditable };
}

function notFocused(holder) {
  const other = focused();
  const taken = other && other !== document.body && other !== holder ? `, ${preview(other)} has it` : "";
  return `the element does not take the focus${taken}`;
}

function selectInside(element) {
  const range = element.ownerDocument.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return selection;
}

/// Sets a value where the browser has no text to insert, else selects what is
/// there and leaves the inserting to the caller.
function fill(value) {
  const { field } = edited;
  if (field.tagName === "SELECT") return choose(field, value);
  const type = field.tagName === "INPUT" ? field.type : "";
  if (type in BY_VALUE || type === "range") return setValue(field, type, value.trim());
  if (type === "number" && Number.isNaN(Number(value.trim()))) {
    refuse(`${JSON.stringify(cut(value, 80))} is no number, and ${preview(field)} takes nothing else`);
  }
  const holder = focusHolder(field);
  holder.focus({ preventScroll: true });
  if (focused() !== holder) return { blocked: notFocused(holder) };
  if (field.matches("input, textarea")) field.select();
  else selectInside(field);
  return { insert: type === "number" ? value.trim() : value, empty: rawValue(field) === "" };
}

function choose(select, value) {
  const { chosen, blocked } = optionsFor(select, value);
  if (blocked) return { blocked };
  select.focus({ preventScroll: true });
  if (!select.multiple && chosen.length === 1) select.selectedIndex = chosen[0].index;
  else for (const option of select.options) option.selected = chosen.includes(option);
  announce(select);
  return { done: true };
}

function setValue(field, type, value) {
  const wanted = type === "color" ? value.toLowerCase() : value;
  const before = field.value;
  field.focus({ preventScroll: true });
  field.value = wanted;
  const holds = type === "range" ? Number(field.value) === Number(wanted) : type === "color" ? field.value === wanted : (field.value === "") === (wanted === "");
  if (!holds || (type === "range" && wanted === "")) {
    field.value = before;
    const { min, max, step } = field;
    const numbers = `a number from ${min || 0} to ${max || 100}${step === "any" ? "" : ` in steps of ${step || 1}`}`;
    refuse(`${JSON.stringify(cut(value, 80))} is no value for ${preview(field)}; it takes ${BY_VALUE[type] ?? numbers}`);
  }
  announce(field);
  return { done: true };
}

function announce(field) {
  field.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

/// What a field holds, as a page would send it; null where it holds nothing readable.
function rawValue(field) {
  if (field.tagName === "SELECT") return [...field.selectedOptions].map((option) => normalize(option.label)).join("\n");
  if (field.matches("input, textarea")) return field.value;
  return field.isContentEditable ? field.innerText.replace(/\u00a0/g, " ").replace(/\n$/, "") : null;
}

/// Two frames later: what the field holds now, masked where it is a secret.
async function readBack(text) {
  await nextFrame();
  await nextFrame();
  const { field, label } = edited;
  if (!field.isConnected) return { label, gone: true };
  const value = rawValue(field);
  if (value === null) return { label };
  const secret = isSecret(field);
  const characters = Array.from(value);
  const plain = (written) => normalize(written.toWellFormed().replace(/\r\n?/g, "\n"));
  const problem = field.matches(FIELDS) && value !== "" && !field.validity.valid ? tidy(field.validationMessage) : "";
  const clean = (written) => cut(written, MOST_SHOWN).toWellFormed();
  return {
    label, secret, problem,
    characters: characters.length,
    value: secret ? null : clean(value),
    list: field.tagName === "SELECT",
    // What is set by its value was checked then; it may be written in another way.
    whole: field.type in BY_VALUE || field.type === "range" || plain(value) === plain(text),
    holds: plain(value).includes(plain(text)),
    numeric: field.type === "number" && value !== "" && Number(value) === Number(text),
  };
}
