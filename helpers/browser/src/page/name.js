//! Accessible names (accname 1.2, section 4.3; for HTML's own labels HTML-AAM, section 4.1).

const NAME_FROM_CONTENT = new Set(
  ("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
    "rowheader switch tab tooltip treeitem").split(" "),
);
// Inside another's content these speak through their own content as well; so does what has no role.
const CONTENT_WHEN_NESTED = new Set(
  ("caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph presentation " +
    "region rowgroup section strong subscript superscript table term time").split(" "),
);
const PLACEHOLDER_INPUTS = ["text", "password", "search", "tel", "email", "url", "number"];
const LABELLED_TAGS = ["BUTTON", "OUTPUT", "METER", "PROGRESS", "TEXTAREA", "SELECT", "INPUT"];
const RANGES = ["progressbar", "scrollbar", "slider", "spinbutton", "meter"];

/// The name of an element, normalised; with `withHidden`, hidden content counts too.
function nameOf(element, withHidden = false) {
  const key = withHidden ? "wholeName" : "name";
  const known = factsOf(element);
  if (known[key] === undefined) {
    const prohibited = NAMING_PROHIBITED.has(roleOf(element) ?? "");
    known[key] = prohibited ? "" : normalize(nameText(element, { withHidden, visited: new Set(), target: "self" }));
  }
  return known[key];
}

/// The description of an element, normalised.
function descriptionOf(element, withHidden) {
  if (element.hasAttribute("aria-describedby")) {
    const others = referenced(element, "aria-describedby");
    const texts = others.map((other) => nameText(other, { withHidden, visited: new Set(), describedBy: entered(other) }));
    return normalize(texts.join(" "));
  }
  return normalize(element.getAttribute("aria-description") ?? element.getAttribute("title") ?? "");
}

/// The elements that an attribute names by id, each once.
function referenced(element, attribute) {
  const ids = element.getAttribute(attribute);
  if (!ids) return [];
  const root = element.getRootNode();
  const found = [];
  for (const id of ids.split(/\s+/).filter(Boolean)) {
    const other = root.getElementById?.(id);
    if (other && !found.includes(other)) found.push(other);
  }
  return found;
}

/// The labels of a control, in order. Each control's own list would be looked for in
/// the whole document.
function labelsOf(element) {
  if (!element.labels || !element.isConnected) return [...(element.labels ?? [])];
  const root = element.getRootNode();
  let known = labels.get(root);
  if (!known) {
    known = new Map();
    for (const label of root.querySelectorAll("label")) {
      const { control } = label;
      if (!control) continue;
      if (known.has(control)) known.get(control).push(label);
      else known.set(control, [label]);
    }
    labels.set(root, known);
  }
  return known.get(element) ?? [];
}

// How a computation came to an element; what is hidden as a whole speaks as a whole.
function entered(element) {
  return { hidden: isHiddenForAria(element) };
}

/// The text an element gives. `cx.target` is "self" for the element asked about
/// and "inside" for its content; `labelledBy`, `describedBy`, `label` and `native`
/// are set below the target of such a reference.
function nameText(element, cx) {
  if (cx.visited.has(element)) return "";
  if (!cx.withHidden) {
    const reached = cx.labelledBy?.hidden || cx.describedBy?.hidden || cx.label?.hidden || cx.native?.hidden;
    if (NEVER_SEEN.has(element.tagName) || (!reached && isHiddenForAria(element))) {
      cx.visited.add(element);
      return "";
    }
  }
  const labelling = referenced(element, "aria-labelledby");
  if (!cx.labelledBy && labelling.length > 0) {
    const away = { withHidden: cx.withHidden, visited: cx.visited };
    const text = labelling.map((label) => nameText(label, { ...away, labelledBy: entered(label) })).join(" ");
    if (text) return text;
  }
  const role = roleOf(element) ?? "";
  const embedded = cx.label || cx.labelledBy || cx.target === "inside" ? embeddedValue(element, role, labelling, cx) : null;
  if (embedded !== null) {
    cx.visited.add(element);
    return embedded;
  }
  const aria = element.getAttribute("aria-label") ?? "";
  if (aria.trim()) {
    cx.visited.add(element);
    return aria;
  }
  const silent = role === "presentation" || role === "none";
  const native = silent ? null : nativeName(element, labelling.length > 0, cx);
  if (native !== null) {
    cx.visited.add(element);
    return native;
  }
  return contentOrTitle(element, role, silent, cx);
}

function contentOrTitle(element, role, silent, cx) {
  const speaks =
    NAME_FROM_CONTENT.has(role) || (cx.target === "inside" && (role === "" || CONTENT_WHEN_NESTED.has(role))) ||
    (tagOf(element) === "SUMMARY" && !silent) || cx.labelledBy || cx.describedBy || cx.label || cx.native;
  cx.visited.add(element);
  if (speaks) {
    const text = contentText(element, inside(cx));
    if ((cx.target === "self" ? text.trim() : text) !== "") return text;
  }
  const title = element.getAttribute("title") ?? "";
  return (!silent || tagOf(element) === "IFRAME") && title.trim() ? title : "";
}

function inside(cx) {
  return cx.target === "self" ? { ...cx, target: "inside" } : cx;
}

/// The value of a control inside another's label, null for anything else.
function embeddedValue(element, role, labelling, cx) {
  if (labelsOf(element).includes(element) || labelling.includes(element)) return null;
  if (role === "textbox") {
    if (!["INPUT", "TEXTAREA"].includes(element.tagName)) return element.textContent ?? "";
    // A secret never becomes part of a name.
    return isSecret(element) ? "" : element.value;
  }
  if (role === "combobox" || role === "listbox") {
    const options = chosenOptions(element, role);
    if (options.length === 0 && element.tagName === "INPUT") return element.value;
    cx.visited.add(element);
    return options.map((option) => nameText(option, inside(cx))).join(" ");
  }
  if (RANGES.includes(role)) {
    return element.getAttribute("aria-valuetext") ?? element.getAttribute("aria-valuenow") ?? element.getAttribute("value") ?? "";
  }
  return role === "menu" ? "" : null;
}

function chosenOptions(element, role) {
  if (element.tagName === "SELECT") {
    const chosen = [...element.selectedOptions];
    return chosen.length === 0 && element.options.length > 0 ? [element.options[0]] : chosen;
  }
  const box = role === "listbox" ? element : withOwned(element, "*").find((other) => roleOf(other) === "listbox");
  return box ? withOwned(box, '[aria-selected="true"]').filter((other) => roleOf(other) === "option") : [];
}

function withOwned(element, css) {
  const found = [...element.querySelectorAll(css)];
  for (const owned of referenced(element, "aria-owns")) {
    if (owned.matches(css)) found.push(owned);
    found.push(...owned.querySelectorAll(css));
  }
  return found;
}

/// What the element's own language gives as its name; null when it has no such
/// rule, or none that counts beside `aria-labelledby`.
function nativeName(element, labelled, cx) {
  const tag = tagOf(element);
  if (tag === "INPUT" && ["button", "submit", "reset", "file", "image"].includes(element.type)) return buttonInputName(element, cx);
  if (tag === "IMG" || tag === "AREA") return alternative(element);
  if (!labelled && LABELLED_TAGS.includes(tag)) return labelledName(element, tag, cx);
  if (!labelled && (tag === "FIELDSET" || tag === "FIGURE")) {
    cx.visited.add(element);
    return childText(element, tag === "FIELDSET" ? "LEGEND" : "FIGCAPTION", cx) ?? element.getAttribute("title") ?? "";
  }
  if (tag === "TABLE") {
    cx.visited.add(element);
    // A title counts only after the content.
    return childText(element, "CAPTION", cx) ?? (element.getAttribute("summary") || null);
  }
  return element.ownerSVGElement || tag === "SVG" ? vectorName(element, tag, cx) : null;
}

function buttonInputName(element, cx) {
  cx.visited.add(element);
  const title = element.getAttribute("title") ?? "";
  if (element.type === "file" || element.type === "image") {
    const own = cx.labelledBy ? [] : labelsOf(element);
    if (own.length > 0) return labelsText(own, cx);
    return element.type === "file" ? "Choose File" : alternative(element).trim() ? alternative(element) : "Submit";
  }
  if (element.value.trim()) return element.value;
  return { submit: "Submit", reset: "Reset" }[element.type] ?? title;
}

function alternative(element) {
  const alt = element.getAttribute("alt") ?? "";
  return alt.trim() ? alt : (element.getAttribute("title") ?? "");
}

function labelledName(element, tag, cx) {
  const own = labelsOf(element);
  if (own.length > 0) {
    cx.visited.add(element);
    return labelsText(own, cx);
  }
  if (tag === "BUTTON") return null;
  const title = element.getAttribute("title") ?? "";
  const typed = tag === "TEXTAREA" || (tag === "INPUT" && PLACEHOLDER_INPUTS.includes(element.type));
  return typed && !title ? (element.getAttribute("placeholder") ?? "") : title;
}

function labelsText(own, cx) {
  return own
    .map((label) => nameText(label, { withHidden: cx.withHidden, visited: cx.visited, label: entered(label) }))
    .filter(Boolean)
    .join(" ");
}

function childText(element, tag, cx) {
  const child = [...element.children].find((one) => one.tagName === tag);
  return child ? nameText(child, { ...inside(cx), native: entered(child) }) : null;
}

function vectorName(element, tag, cx) {
  for (const child of element.children) {
    if (tagOf(child) !== "TITLE" || !child.ownerSVGElement) continue;
    cx.visited.add(element);
    return nameText(child, { ...inside(cx), labelledBy: entered(child) });
  }
  const linkTitle = tag === "A" ? (element.getAttribute("xlink:title") ?? "") : "";
  return linkTitle.trim() ? linkTitle : null;
}

/// Text that a style sheet puts before, after or in place of an element's
/// content; what stands after a slash is how it is spoken. Null where there is none.
function styledText(element, pseudo) {
  const style = pseudo ? getComputedStyle(element, pseudo) : styleOf(element);
  const { content } = style;
  if (!content || content === "none" || content === "normal" || style.display === "none" || style.visibility === "hidden") return null;
  const text = spokenContent(element, content, Boolean(pseudo));
  return text !== null && pseudo && style.display !== "inline" ? ` ${text} ` : text;
}

function spokenContent(element, content, whole) {
  let tokens;
  try {
    tokens = cssTokens(content).filter(({ kind }) => kind !== "space");
  } catch {
    return null;
  }
  const slash = tokens.findIndex((token) => token.kind === "delim" && token.text === "/");
  if (slash === -1 && !whole) return null;
  tokens.splice(0, slash + 1);
  let text = "";
  while (tokens.length > 0) {
    const token = tokens.shift();
    if (token.kind === "string") text += token.value;
    else if (token.kind === "function" && token.value === "attr" && tokens[0]?.kind === "ident" && tokens[1]?.text === ")") {
      text += element.getAttribute(tokens[0].value) ?? "";
      tokens.splice(0, 2);
    } else return null;
  }
  return text;
}

function contentText(element, cx) {
  const parts = [styledText(element, "::before") ?? ""];
  const add = (node, unslotted) => {
    if (unslotted && node.assignedSlot) return;
    if (node.nodeType === Node.TEXT_NODE) parts.push(node.textContent ?? "");
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const text = nameText(node, cx);
    // What is never rendered, such as the inside of a video, has no display at all.
    const inline = ["inline", ""].includes(displayOf(node)) && node.nodeName !== "BR";
    parts.push(inline ? text : ` ${text} `);
  };
  const replaced = styledText(element);
  const slotted = element.tagName === "SLOT" ? element.assignedNodes() : [];
  if (replaced !== null) parts.push(replaced);
  else if (slotted.length > 0) slotted.forEach((node) => add(node, false));
  else {
    element.childNodes.forEach((node) => add(node, true));
    element.shadowRoot?.childNodes.forEach((node) => add(node, true));
    referenced(element, "aria-owns").forEach((node) => add(node, true));
  }
  parts.push(styledText(element, "::after") ?? "");
  return parts.join("");
}
