//! What takes the mouse or keyboard without a role, and what of an element's contents is shown.

const HANDLERS = ["onclick", "ondblclick", "onmousedown", "onmouseup", "onpointerdown", "onpointerup"].map((name) => `[${name}]`).join(", ");

/// What the mouse or keyboard goes to whatever its style says.
function takesInput(element, parent) {
  if (isSummary(element) || element.matches(HANDLERS)) return true;
  if ((element.tagName === "AUDIO" || element.tagName === "VIDEO") && element.controls) return true;
  if (element.isContentEditable) return !parent?.isContentEditable;
  return element.hasAttribute("tabindex") && element.tabIndex >= 0;
}

/// What opens and closes a `<details>`.
function isSummary(element) {
  const details = element.tagName === "SUMMARY" ? element.parentElement : null;
  return details?.tagName === "DETAILS" && details.querySelector(":scope > summary") === element;
}

/// Is nothing shown of its own text, whatever that text's style says?
function keepsContentBack(element) {
  switch (element.tagName) {
    case "DETAILS": return !element.open;
    // Words for browsers that know no such element.
    case "AUDIO": case "VIDEO": case "METER": case "PROGRESS": return true;
    case "OBJECT": return !showsFallback(element);
    default: return styleOf(element).contentVisibility === "hidden";
  }
}

function showsFallback(object) {
  for (const child of object.childNodes) {
    if (child.nodeType === Node.TEXT_NODE ? textNodeHasBox(child) : child.nodeType === Node.ELEMENT_NODE && isVisible(child)) return true;
  }
  return false;
}

/// Whether a summary's details are shown; `role=` has no word for it.
function openOf(element) {
  return isSummary(element) && element.parentElement.open ? ["[open]"] : [];
}
