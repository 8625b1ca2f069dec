//! Accessible names, computed as the accessible name recommendation (accname 1.2) says.

const NAME_FROM_CONTENT = new Set(
  ("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
    "rowheader switch tab tooltip treeitem").split(" "),
);
// Inside another's content these speak through their own content as well.
const CONTENT_WHEN_NESTED = new Set(
  ("caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph presentation " +
    "region rowgroup section strong subscript superscript table term time generic").split(" "),
);
const TEXT_INPUTS = ["text", "password", "search", "tel", "email", "url"];

/// The name of an element, normalised; with `withHidden`, hidden content counts too.
function nameOf(element, withHidden = false) {
  const key = withHidden ? 1 : 0;
  let known = names.get(element);
  if (!known) names.set(element, (known = []));
  if (known[key] === undefined) {
    known[key] = NAMING_PROHIBITED.has(roleOf(element) ?? "")
      ? ""
      : normalize(nameText(element, { withHidden, visited: new Set(), at: "self" }));
  }
  return known[key];
}

function referenced(element, attribute) {
  const root = element.getRootNode();
  const found = [];
  for (const id of (element.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean)) {
    const other = root.getElementById?.(id);
    if (other && !found.includes(other)) found.push(other);
  }
  return found;
}

/// `cx.at`: self | content (inside a name from content) | label (inside a native
/// label) | reference (the target of aria-labelledby, or inside it).
function nameText(element, cx) {
  if (cx.visited.has(element)) return "";
  const inner = { ...cx, at: cx.at === "self" ? "content" : cx.at };
  if (!cx.withHidden) {
    const reach = cx.hiddenReference ?? false;
    if (!reach && isHiddenForAria(element) && cx.at !== "self") {
      cx.visited.add(element);
      return "";
    }
    if (NEVER_SEEN.has(element.tagName)) return "";
  }
  if (cx.at !== "reference") {
    const labels = referenced(element, "aria-labelledby");
    const text = labels
      .map((label) => nameText(label, { withHidden: cx.withHidden, visited: new Set(), at: "reference", hiddenReference: isHiddenForAria(label) }))
      .join(" ");
    if (text) return text;
  }
  const role = roleOf(element) ?? "";
  const tag = tagOf(element);
  if (cx.at === "label" || cx.at === "reference" || cx.at === "content") {
    const embedded = embeddedValue(element, role, cx);
    if (embedded !== null) {
      cx.visited.add(element);
      return embedded;
    }
  }
  const aria = (element.getAttribute("aria-label") ?? "").trim();
  if (aria && !(cx.at === "content" && role === "" && tag === "SLOT")) {
    cx.visited.add(element);
    return aria;
  }
  if (role !== "presentation" && role !== "none") {
    const native = nativeName(element, tag, cx);
    if (native !== null) return native;
  }
  const fromContent =
    NAME_FROM_CONTENT.has(role) || tag === "SUMMARY" ||
    (cx.at !== "self" && (role === "" || CONTENT_WHEN_NESTED.has(role))) || cx.at === "reference" || cx.at === "label";
  if (fromContent) {
    cx.visited.add(element);
    const text = contentText(element, inner);
    if ((cx.at === "self" ? text.trim() : text) !== "") return text;
  }
  if (!["presentation", "none"].includes(role) || tag === "IFRAME") {
    cx.visited.add(element);
    return element.getAttribute("title") ?? "";
  }
  cx.visited.add(element);
  return "";
}

/// The value of a control inside another's label, null for anything else.
function embeddedValue(element, role, cx) {
  if (cx.at === "reference" && !cx.nested) return null;
  if (role === "textbox") {
    return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
      ? (element.type === "password" ? "" : element.value)
      : (element.textContent ?? "");
  }
  if (role === "combobox" || role === "listbox") {
    const options = element.tagName === "SELECT"
      ? [...element.selectedOptions]
      : [...element.querySelectorAll("[role=option]")].filter((option) => selectedOf(option));
    if (element.tagName === "INPUT") return element.value;
    return options.map((option) => nameText(option, { ...cx, at: "content" })).join(" ");
  }
  if (["progressbar", "scrollbar", "slider", "spinbutton", "meter"].includes(role)) {
    return element.getAttribute("aria-valuetext") ?? element.getAttribute("aria-valuenow") ?? element.value?.toString() ?? "";
  }
  return role === "menu" ? "" : null;
}

function labelsText(labels, cx) {
  return [...labels]
    .map((label) => nameText(label, { withHidden: cx.withHidden, visited: cx.visited, at: "label" }))
    .filter(Boolean)
    .join(" ");
}

function firstChildText(element, tag, cx) {
  for (const child of element.children) {
    if (child.tagName === tag) return nameText(child, { ...cx, visited: cx.visited, at: "label" });
  }
  return null;
}

/// What the element's own language gives as its name; null when it has no such rule.
function nativeName(element, tag, cx) {
  const title = element.getAttribute("title") ?? "";
  if (tag === "INPUT" && ["button", "submit", "reset"].includes(element.type)) {
    cx.visited.add(element);
    if (element.value.trim()) return element.value;
    if (element.type === "submit") return "Submit";
    if (element.type === "reset") return "Reset";
    return title;
  }
  if (tag === "INPUT" && element.type === "file") {
    cx.visited.add(element);
    if (element.labels?.length) return labelsText(element.labels, cx);
    return "Choose File";
  }
  if (tag === "INPUT" && element.type === "image") {
    cx.visited.add(element);
    if (element.labels?.length) return labelsText(element.labels, cx);
    const alt = element.getAttribute("alt") ?? "";
    return alt.trim() ? alt : title.trim() ? title : "Submit";
  }
  if (tag === "BUTTON") {
    if (!element.labels?.length) return null;
    cx.visited.add(element);
    return labelsText(element.labels, cx);
  }
  if (tag === "OUTPUT") {
    cx.visited.add(element);
    return element.labels?.length ? labelsText(element.labels, cx) : title;
  }
  if (["TEXTAREA", "SELECT", "INPUT"].includes(tag)) {
    cx.visited.add(element);
    if (element.labels?.length) return labelsText(element.labels, cx);
    const typed = tag === "TEXTAREA" || (tag === "INPUT" && TEXT_INPUTS.includes(element.type));
    const placeholder = element.getAttribute("placeholder") ?? "";
    return typed && !title ? placeholder : title;
  }
  return structureName(element, tag, cx, title);
}

function structureName(element, tag, cx, title) {
  if (tag === "FIELDSET" || tag === "FIGURE" || tag === "TABLE") {
    cx.visited.add(element);
    const owner = { FIELDSET: "LEGEND", FIGURE: "FIGCAPTION", TABLE: "CAPTION" }[tag];
    const text = firstChildText(element, owner, cx);
    if (text !== null) return text;
    if (tag === "TABLE" && element.getAttribute("summary")) return element.getAttribute("summary");
    return title;
  }
  if (tag === "IMG" || tag === "AREA") {
    cx.visited.add(element);
    const alt = element.getAttribute("alt") ?? "";
    return alt.trim() ? alt : title;
  }
  if (element.ownerSVGElement || tag === "SVG") {
    for (const child of element.children) {
      if (tagOf(child) === "TITLE" && child.ownerSVGElement) {
        cx.visited.add(element);
        return nameText(child, { ...cx, at: "label", hiddenReference: true });
      }
    }
  }
  if (tag === "A" && element.ownerSVGElement) {
    const linkTitle = element.getAttribute("xlink:title") ?? "";
    if (linkTitle.trim()) return linkTitle;
  }
  return null;
}

function generatedText(element, pseudo) {
  const style = getComputedStyle(element, pseudo);
  if (!style || style.display === "none" || style.visibility === "hidden") return "";
  const content = style.content;
  if (!content || content === "none" || content === "normal") return "";
  const parts = [];
  const spoken = content.includes("/ ") && /\/\s*"/.test(content) ? content.slice(content.lastIndexOf("/") + 1) : content;
  for (const match of spoken.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(([^)]+)\)/g)) {
    parts.push(match[1] !== undefined ? match[1].replace(/\\(.)/g, "$1") : (element.getAttribute(match[2].trim()) ?? ""));
  }
  const text = parts.join("");
  return text && style.display !== "inline" ? ` ${text} ` : text;
}

function contentText(element, cx) {
  const inner = { ...cx, nested: true };
  const parts = [];
  const visit = (node, skipSlotted) => {
    if (skipSlotted && node.assignedSlot) return;
    if (node.nodeType === Node.ELEMENT_NODE) {
      const text = nameText(node, inner);
      const inline = styleOf(node).display === "inline";
      parts.push(!inline || node.nodeName === "BR" ? ` ${text} ` : text);
    } else if (node.nodeType === Node.TEXT_NODE) {
      parts.push(node.textContent ?? "");
    }
  };
  parts.push(generatedText(element, "::before"));
  const slotted = element.tagName === "SLOT" ? element.assignedNodes() : [];
  if (slotted.length) for (const node of slotted) visit(node, false);
  else {
    for (let child = element.firstChild; child; child = child.nextSibling) visit(child, true);
    if (element.shadowRoot) for (let child = element.shadowRoot.firstChild; child; child = child.nextSibling) visit(child, true);
    for (const owned of referenced(element, "aria-owns")) visit(owned, true);
  }
  parts.push(generatedText(element, "::after"));
  return parts.join("");
}
