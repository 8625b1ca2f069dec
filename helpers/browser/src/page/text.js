//! Texts as selectors compare them, and the text engine.

const SKIPPED_TEXT = new Set(["SCRIPT", "NOSCRIPT", "STYLE"]);

function hasNoText(root) {
  return SKIPPED_TEXT.has(root.nodeName) || (document.head?.contains(root) ?? false);
}

/// Whole text of an element or shadow root, the same normalised and folded, and
/// its immediate runs: the text between its child elements.
function textOf(root) {
  const known = texts.get(root);
  if (known) return known;
  const runs = [];
  const value = { full: "", folded: "", runs };
  if (root instanceof HTMLInputElement && ["submit", "button", "reset"].includes(root.type)) {
    value.full = root.value;
    runs.push(root.value);
  } else if (!hasNoText(root)) {
    let run = "";
    for (let child = root.firstChild; child; child = child.nextSibling) {
      if (child.nodeType === Node.TEXT_NODE) {
        value.full += child.nodeValue;
        run += child.nodeValue;
      } else if (child.nodeType !== Node.COMMENT_NODE) {
        if (run) runs.push(run);
        run = "";
        if (child.nodeType === Node.ELEMENT_NODE) value.full += textOf(child).full;
      }
    }
    if (run) runs.push(run);
    if (root.shadowRoot) value.full += textOf(root.shadowRoot).full;
  }
  value.folded = normalize(value.full).toLowerCase();
  value.runs = runs.map(normalize);
  texts.set(root, value);
  return value;
}

/// Is `wanted` in the text, case and white space aside?
function holdsText(wanted) {
  const folded = normalize(wanted).toLowerCase();
  return (text) => text.folded.includes(folded);
}

/// Is `wanted` one of the runs? An empty one means that there is no text of its own.
function holdsRun(wanted) {
  const exact = normalize(wanted);
  return (text) => text.runs.includes(exact) || (exact === "" && text.runs.length === 0);
}

/// "self" when the element is the smallest that holds, "inner" when something
/// right inside it does too, "none" when it does not.
function smallestText(element, holds) {
  if (hasNoText(element) || !holds(textOf(element))) return "none";
  for (let child = element.firstElementChild; child; child = child.nextElementSibling) {
    if (holds(textOf(child))) return "inner";
  }
  return element.shadowRoot && holds(textOf(element.shadowRoot)) ? "inner" : "self";
}

/// A test of elements from the body of `text=`.
function textMatcher(body) {
  const end = body.lastIndexOf("/");
  if (body.startsWith("/") && end > 0) {
    const regex = makeRegex(body.slice(1, end), body.slice(end + 1), `text=${body}`);
    return (element) => smallestText(element, (text) => text.full.search(regex) !== -1) === "self";
  }
  if (body.length > 1 && (body[0] === '"' || body[0] === "'") && body.endsWith(body[0])) {
    const holds = holdsRun(body.slice(1, -1).replace(/\\([\s\S])/g, "$1"));
    return (element) => smallestText(element, holds) !== "none";
  }
  const holds = holdsText(body);
  return (element) => smallestText(element, holds) === "self";
}

function queryText(scope, matcher) {
  const elements = everyElement(scope);
  if (scope.nodeType === Node.ELEMENT_NODE) elements.unshift(scope);
  return elements.filter(matcher);
}
