//! The tree a model reads: lines of roles, names, states and values, with the frames to be stitched in.

const INTERACTIVE = new Set(
  ("button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox " +
    "slider spinbutton switch tab textbox treeitem").split(" "),
);
const VALUED = new Set(["textbox", "searchbox", "combobox", "spinbutton", "slider", "progressbar", "meter"]);
const MASK = "••••••";

function tidy(text) {
  return normalize(text.toWellFormed());
}

/// The states that `role=` can ask for, in its own words.
function statesOf(element, role) {
  const states = [];
  if (ROLES_WITH.checked.includes(role)) {
    const checked = checkedOf(element);
    if (checked) states.push(checked === "mixed" ? "[checked=mixed]" : "[checked]");
  }
  if (disabledOf(element)) states.push("[disabled]");
  if (expandedOf(element)) states.push("[expanded]");
  if (role === "heading" || role === "treeitem") {
    const level = levelOf(element);
    if (level) states.push(`[level=${level}]`);
  }
  const pressed = pressedOf(element);
  if (pressed) states.push(pressed === "mixed" ? "[pressed=mixed]" : "[pressed]");
  if (selectedOf(element)) states.push("[selected]");
  return states;
}

function valueOf(element, role) {
  if (!VALUED.has(role)) return "";
  if (element.tagName === "SELECT") return tidy([...element.selectedOptions].map((option) => option.label || option.text).join(", "));
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    return isSecret(element) && element.value ? MASK : tidy(element.value);
  }
  const aria = element.getAttribute("aria-valuetext") ?? element.getAttribute("aria-valuenow");
  if (aria !== null) return tidy(aria);
  if ("value" in element && typeof element.value === "number") return String(element.value);
  return role === "textbox" || role === "searchbox" ? tidy(element.innerText ?? "") : "";
}

function isMeaningful(role) {
  return role !== null && !["presentation", "none", "generic", "document"].includes(role);
}

function isClickRoot(element) {
  const parent = parentOrHost(element);
  const pointed = styleOf(element).cursor === "pointer" && (!parent || styleOf(parent).cursor !== "pointer");
  return (pointed || takesInput(element, parent)) && isVisible(element);
}

function childNodesOf(element) {
  if (element.tagName === "SLOT") {
    const assigned = element.assignedNodes();
    return assigned.length ? assigned : [...element.childNodes];
  }
  // Only in a host with a root that can be read are children put into slots that can be read.
  const inside = [...(element.shadowRoot ?? element).childNodes];
  const owned = referenced(element, "aria-owns");
  return owned.length > 0 ? inside.concat(owned) : inside;
}

/// Nodes of a parent: `{ role, name, states, value, children, … }` or text.
function nodesUnder(element, cx, out) {
  for (const child of childNodesOf(element)) {
    if (child.nodeType === Node.TEXT_NODE) {
      if (!cx.quiet && !cx.hidden && !keepsContentBack(element)) addText(out, child.nodeValue ?? "");
    } else if (child.nodeType === Node.ELEMENT_NODE && !cx.seen.has(child)) {
      cx.seen.add(child);
      addElement(child, cx, out);
    }
  }
}

function addText(out, text) {
  if (text === "") return;
  const last = out[out.length - 1];
  if (typeof last === "string") out[out.length - 1] = last + text;
  else out.push(text);
}

function addElement(element, cx, out) {
  if (NEVER_SEEN.has(element.tagName)) return;
  const fileInput = element.tagName === "INPUT" && element.type === "file";
  const hidden = isHiddenForAria(element);
  if (hidden && !isVisible(element) && !fileInput) {
    // What lies under `visibility: hidden` or `display: contents` can be visible again.
    if (displayOf(element) === "none") return;
    nodesUnder(element, { ...cx, hidden: true }, out);
    return;
  }
  const inner = { ...cx, hidden };
  const role = roleOf(element);
  const clickable = isClickRoot(element);
  const block = !["inline", "contents"].includes(displayOf(element)) || element.tagName === "BR";
  const frame = FRAME_TAGS.has(element.tagName) ? frames.indexOf(element) : -1;
  if (frame !== -1 && !hidden) {
    const kind = element.tagName === "FRAME" ? "iframe" : element.localName;
    out.push({ role: kind, name: nameOf(element), states: [], value: "", children: [], frame });
  }
  if (FRAME_TAGS.has(element.tagName) && (frame !== -1 || element.tagName !== "OBJECT")) return;
  const meaning = isMeaningful(role);
  if (hidden && !INTERACTIVE.has(role ?? "") && !clickable && !fileInput) {
    nodesUnder(element, inner, out);
    return;
  }
  if (!meaning && !clickable) {
    if (block) addText(out, " ");
    if (!hidden && !cx.quiet) addText(out, styledText(element, "::before") ?? "");
    nodesUnder(element, inner, out);
    if (!hidden && !cx.quiet) addText(out, styledText(element, "::after") ?? "");
    if (block) addText(out, " ");
    return;
  }
  const node = nodeFor(element, meaning ? role : "generic", hidden, inner);
  if (!meaning && element instanceof HTMLMediaElement) node.role = element.localName;
  node.clickable = clickable;
  out.push(node);
}

function nodeFor(element, role, hidden, cx) {
  const node = {
    element, role, hidden,
    name: role === "generic" ? "" : tidy(nameOf(element, hidden)),
    states: (role === "generic" ? openOf(element) : statesOf(element, role)).concat(hidden ? ["[include-hidden]"] : []),
    value: valueOf(element, role),
    children: [],
  };
  const valued = VALUED.has(role) && element.tagName !== "SELECT" && (element.matches("input, textarea") || element.isContentEditable);
  if (valued) return node;
  nodesUnder(element, cx, node.children);
  node.children = node.children
    .map((child) => (typeof child === "string" ? tidy(child) : child))
    .filter((child) => child !== "");
  const spoken = NAME_FROM_CONTENT.has(role) && node.name !== "";
  if (spoken) node.children = node.children.filter((child) => typeof child !== "string" || !node.name.includes(child));
  // A row's name repeats its cells; they are printed right below it.
  if (role === "row" && node.name.length > 80 && node.children.length > 0) node.name = "";
  if (element.tagName === "A" && element.getAttribute("href")) node.url = tidy(shortUrl(element.getAttribute("href")));
  const placeholder = element.getAttribute("placeholder");
  if (placeholder && tidy(placeholder) !== node.name) node.placeholder = tidy(placeholder);
  return node;
}

function shortUrl(url) {
  const data = /^data:([^;,]*)/i.exec(url);
  return data ? `data:${data[1]} (${url.length} characters)` : cut(url, 200);
}

/// Do role and name, as they are printed, make a target?
function canBeNamed({ element, role, name }) {
  return name === "" ? role === "gridcell" : isPrintable(nameOf(element));
}

const keyOf = (role, name) => `${role} ${JSON.stringify(name)}`;

/// How many elements `role=` finds for each role and name of something
/// interactive, and which of them each element is.
function countAlike() {
  const totals = new Map();
  const places = new Map();
  for (const element of everyElement(document)) {
    const role = roleOf(element);
    if (!INTERACTIVE.has(role ?? "") || isHiddenForAria(element)) continue;
    const key = keyOf(role, nameOf(element));
    const place = totals.get(key) ?? 0;
    places.set(element, place);
    totals.set(key, place + 1);
  }
  return { totals, places };
}

function render(nodes, depth, alike, lines) {
  for (const node of nodes) {
    if (typeof node === "string") {
      lines.push({ depth, head: `- text: ${node}` });
      continue;
    }
    const only = node.children.length === 1 && typeof node.children[0] === "string" && !node.url && !node.placeholder;
    const value = node.value || (only ? node.children[0] : "");
    const below = only && !node.value ? [] : node.children;
    const line = { depth, head: `- ${node.role}${node.name ? ` ${quoted(node.name)}` : ""}`, tail: node.states.map((state) => ` ${state}`).join("") };
    if (node.frame !== undefined) line.frame = node.frame;
    const interactive = INTERACTIVE.has(node.role);
    if (node.element && (node.hidden || (interactive ? !canBeNamed(node) : node.clickable))) {
      line.target = uniqueCss(node.element);
    } else if (interactive && !node.hidden) {
      line.key = keyOf(node.role, nameOf(node.element));
      line.place = alike.places.get(node.element) ?? 0;
    }
    const props = [];
    if (node.url) props.push(`/url: ${node.url}`);
    if (node.placeholder) props.push(`/placeholder: ${node.placeholder}`);
    const more = below.length > 0 || props.length > 0;
    line.end = value ? `: ${value}` : more ? ":" : "";
    lines.push(line);
    for (const prop of props) lines.push({ depth: depth + 1, head: `- ${prop}` });
    render(below, depth + 1, alike, lines);
  }
}

const FRAME_TAGS = new Set(["IFRAME", "FRAME", "OBJECT", "EMBED"]);

let frames = [];

/// Can a document be in it? What an `<embed>` holds it tells nobody.
function holdsDocument(element) {
  return element.tagName !== "OBJECT" || element.contentWindow !== null;
}

/// Finds the frames of this document that the tree shows; their number.
function collectFrames() {
  forget();
  frames = everyMatch({ scope: document, pierce: true }, "iframe, frame, object, embed").filter((element) => holdsDocument(element) && !isHiddenForAria(element) && isVisible(element));
  if (frames.some((frame) => frame.getRootNode() !== document)) frames = inTreeOrder(new Set(frames));
  return frames.length;
}

function inTreeOrder(wanted) {
  const ordered = [];
  const seen = new Set();
  const visit = (element) => {
    if (seen.has(element)) return;
    seen.add(element);
    if (wanted.has(element)) ordered.push(element);
    for (const child of childNodesOf(element)) if (child.nodeType === Node.ELEMENT_NODE) visit(child);
  };
  visit(document.documentElement);
  return ordered;
}

function frameElement(index) {
  return frames[index];
}

/// The tree of this document as JSON text: Chrome would take longer to carry over the values.
function snapshot() {
  forget();
  const nodes = [];
  const root = document.body ?? document.documentElement;
  const cx = { seen: new Set([root]), hidden: false, quiet: false };
  if (root && isMeaningful(roleOf(root)) && !isHiddenForAria(root)) nodes.push(nodeFor(root, roleOf(root), false, cx));
  else if (root) nodesUnder(root, cx, nodes);
  const clean = nodes.map((node) => (typeof node === "string" ? tidy(node) : node)).filter((node) => node !== "");
  const alike = countAlike();
  const lines = [];
  render(clean, 0, alike, lines);
  const keys = new Set(lines.map((line) => line.key).filter(Boolean));
  const totals = Object.fromEntries([...alike.totals].filter(([key]) => keys.has(key) || frames.length > 0 || window !== window.top));
  forget();
  return JSON.stringify({ url: location.href, title: tidy(document.title), kind: document.contentType, lines, totals });
}

/// How often each of the targets matches in this document.
function countTargets(targets) {
  forget();
  return targets.map((target) => query(target).length);
}

function place() {
  return { url: location.href, title: tidy(document.title), state: document.readyState };
}
