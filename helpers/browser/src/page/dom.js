//! The composed tree: parents across shadow roots, visibility, and what assistive technology cannot see.

const NEVER_SEEN = new Set(["STYLE", "SCRIPT", "NOSCRIPT", "TEMPLATE"]);

// One call looks at one moment, so what was computed once holds until the next look.
let facts = new WeakMap();
let labels = new WeakMap();
let texts = new WeakMap();
let shadows = new WeakMap();
let placesOf = new WeakMap();
let tagPlaces = new WeakMap();

function forget() {
  facts = new WeakMap();
  labels = new WeakMap();
  texts = new WeakMap();
  shadows = new WeakMap();
  placesOf = new WeakMap();
  tagPlaces = new WeakMap();
  cssResults = new Map();
  tries = 0;
}

/// What was found out of an element so far; undefined is what was not asked yet.
function factsOf(element) {
  let known = facts.get(element);
  if (!known) {
    known = {
      style: undefined, display: undefined, cutOff: undefined, hidden: undefined, role: undefined, disabled: undefined,
      name: undefined, wholeName: undefined,
    };
    facts.set(element, known);
  }
  return known;
}

function normalize(text) {
  return text.replace(/[\u200b\u00ad]/g, "").trim().replace(/\s+/g, " ");
}

function parentOrHost(node) {
  const parent = node.parentNode;
  if (!parent) return null;
  if (parent.nodeType === Node.ELEMENT_NODE) return parent;
  return parent.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? (parent.host ?? null) : null;
}

function composedContains(ancestor, node) {
  for (let at = node; at; at = parentOrHost(at)) if (at === ancestor) return true;
  return false;
}

/// The nearest of the element and its composed ancestors that matches `css`.
function closestAcross(element, css) {
  for (let at = element; at; at = parentOrHost(at)) if (at.matches(css)) return at;
  return null;
}

/// The shadow roots of a root and of the light elements in it, in order.
function shadowRootsIn(root) {
  let known = shadows.get(root);
  if (!known) {
    known = root.shadowRoot ? [root.shadowRoot] : [];
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) known.push(element.shadowRoot);
    shadows.set(root, known);
  }
  return known;
}

/// Elements under `root` in the order of every engine: light descendants of a
/// root first, then the shadow roots found among them, each the same way.
function everyElement(root) {
  return everyMatch({ scope: root, pierce: true }, "*");
}

function styleOf(element) {
  const known = factsOf(element);
  return (known.style ??= getComputedStyle(element));
}

function displayOf(element) {
  const known = factsOf(element);
  return (known.display ??= styleOf(element).display);
}

function textNodeHasBox(node) {
  const range = document.createRange();
  range.selectNode(node);
  const box = range.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

/// Has a box to look at; opacity and the viewport do not matter.
function isVisible(element) {
  if (displayOf(element) === "contents") {
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE && isVisible(child)) return true;
      if (child.nodeType === Node.TEXT_NODE && textNodeHasBox(child)) return true;
    }
    return false;
  }
  if (!element.checkVisibility() || styleOf(element).visibility !== "visible") return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

function cutOffFromTree(element) {
  const known = factsOf(element);
  if (known.cutOff !== undefined) return known.cutOff;
  let hidden = false;
  if (element.parentElement?.shadowRoot && !element.assignedSlot) hidden = true;
  else if (displayOf(element) === "none") hidden = true;
  else if (element.getAttribute("aria-hidden")?.toLowerCase() === "true") hidden = true;
  else {
    const parent = parentOrHost(element);
    hidden = parent ? cutOffFromTree(parent) : false;
  }
  known.cutOff = hidden;
  return hidden;
}

/// Out of the accessibility tree. A box of no size is not.
function isHiddenForAria(element) {
  const known = factsOf(element);
  return (known.hidden ??= hiddenForAria(element));
}

function hiddenForAria(element) {
  if (NEVER_SEEN.has(element.tagName)) return true;
  const slot = element.tagName === "SLOT";
  if (displayOf(element) === "contents" && !slot) {
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE && !isHiddenForAria(child)) return false;
      if (child.nodeType === Node.TEXT_NODE && textNodeHasBox(child)) return false;
    }
    return true;
  }
  const option = element.tagName === "OPTION" && element.closest("select");
  if (!option && !slot && (!element.checkVisibility() || styleOf(element).visibility !== "visible")) return true;
  return cutOffFromTree(element);
}

const SECRET_FIELDS = /\b(?:cc-number|cc-csc|one-time-code|current-password|new-password)$/;

/// A field whose value is nobody's business: a password, a card's number, a one-time code.
function isSecret(field) {
  return field.type === "password" || SECRET_FIELDS.test(field.autocomplete ?? "");
}

/// A short line of markup that a reader recognises the element by.
function preview(element) {
  const attributes = [];
  for (const { name, value } of element.attributes) {
    if (name === "style") continue;
    if (name === "value" && isSecret(element)) continue;
    if (value === "true" && ["checked", "selected", "disabled", "readonly", "multiple"].includes(name)) {
      attributes.push(` ${name}`);
    } else attributes.push(value === "" ? ` ${name}` : ` ${name}="${cut(value, 50)}"`);
  }
  attributes.sort((a, b) => a.length - b.length);
  let shown = "";
  for (const attribute of attributes) {
    if (shown.length + attribute.length > 120) break;
    shown += attribute;
  }
  shown = shown.toWellFormed();
  const tag = element.localName;
  if (["input", "img", "br", "hr", "area", "embed", "source", "wbr"].includes(tag)) return `<${tag}${shown}/>`;
  let text = "";
  if (element.children.length === 0) text = cut(normalize((element.textContent ?? "").toWellFormed()), 50);
  else text = "…";
  return `<${tag}${shown}>${text}</${tag}>`;
}

function cut(text, most) {
  const characters = Array.from(text);
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}
