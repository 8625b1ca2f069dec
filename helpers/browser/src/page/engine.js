//! Evaluation: the text and role engines, and a chain of parts over the frames of a page.

/// "self" when the element is the smallest that holds, "inner" when something inside it does.
function smallestText(element, holds) {
  if (SKIPPED_TEXT.has(element.tagName) || !holds(textOf(element))) return "none";
  for (let child = element.firstChild; child; child = child.nextSibling) {
    if (child.nodeType === Node.ELEMENT_NODE && holds(textOf(child))) return "inner";
  }
  return element.shadowRoot && holds(textOf(element.shadowRoot)) ? "inner" : "self";
}

function textMatcher(body) {
  if (body.startsWith("/") && body.lastIndexOf("/") > 0) {
    const end = body.lastIndexOf("/");
    const regex = makeRegex(body.slice(1, end), body.slice(end + 1), `text=${body}`);
    return (element) => smallestText(element, (text) => {
      regex.lastIndex = 0;
      return regex.test(text.full);
    }) === "self";
  }
  if (body.length > 1 && (body[0] === '"' || body[0] === "'") && body.endsWith(body[0])) {
    const exact = normalize(body.slice(1, -1).replace(/\\(.)/gs, "$1"));
    return (element) => {
      if (SKIPPED_TEXT.has(element.tagName) || document.head?.contains(element)) return false;
      const { immediate } = textOf(element);
      return exact === "" ? immediate.length === 0 : immediate.includes(exact);
    };
  }
  const folded = normalize(body).toLowerCase();
  return (element) => smallestText(element, (text) => text.normal.toLowerCase().includes(folded)) === "self";
}

function queryText(scope, matcher) {
  const elements = everyElement(scope);
  if (scope.nodeType === Node.ELEMENT_NODE) elements.unshift(scope);
  return elements.filter(matcher);
}

function queryRole(scope, query) {
  return everyElement(scope).filter((element) => {
    if (roleOf(element) !== query.role) return false;
    if (!query.tests.every((test) => test(element))) return false;
    if (!query.includeHidden && isHiddenForAria(element)) return false;
    return query.named.every((attribute) => {
      const text = attribute.name === "name" ? nameOf(element, query.includeHidden) : descriptionOf(element, query.includeHidden);
      return textHolds(text, attribute);
    });
  });
}

function evaluatePart(part, current) {
  if (part.name === "visible") {
    const wanted = part.body.trim() === "true";
    return current.filter((element) => element.nodeType === Node.ELEMENT_NODE && isVisible(element) === wanted);
  }
  if (part.name === "nth") {
    const index = part.index < 0 ? current.length + part.index : part.index;
    return current[index] ? [current[index]] : [];
  }
  const found = new Set();
  for (const scope of current) {
    const elements =
      part.name === "css" ? queryCss(scope, part.parsed) : part.name === "text" ? queryText(scope, part.matcher) : queryRole(scope, part.query);
    for (const element of elements) found.add(element);
  }
  return [...found];
}

/// All matches in this document alone.
function query(selector) {
  const { parts, captured } = parseSelector(selector);
  const run = (from, to, start) => parts.slice(from, to).reduce((current, part) => evaluatePart(part, current), start);
  if (captured === -1) return run(0, parts.length, [document]);
  return run(0, captured + 1, [document]).filter((element) => run(captured + 1, parts.length, [element]).length > 0);
}

// A target is resolved in every frame at once: each frame goes as far as the next
// nth=, the caller counts over all frames and tells each what is left of its set.
let chain = null;
let position = 0;
let current = [];

function advance() {
  if (chain.captured !== -1) {
    const { parts, captured } = chain;
    const rest = (element) => parts.slice(captured + 1).reduce((set, part) => evaluatePart(part, set), [element]);
    current = parts.slice(0, captured + 1).reduce((set, part) => evaluatePart(part, set), [document]).filter((element) => rest(element).length > 0);
    position = parts.length;
  }
  while (position < chain.parts.length && chain.parts[position].name !== "nth") {
    current = evaluatePart(chain.parts[position++], current);
  }
  return { count: current.length, nth: chain.parts[position]?.index ?? null };
}

function begin(selector) {
  forget();
  chain = parseSelector(selector);
  position = 0;
  current = [document];
  return advance();
}

/// Keeps one element of the set, or none for -1, and goes on.
function pick(index) {
  current = index >= 0 ? [current[index]] : [];
  position++;
  return advance();
}

/// Lines for a refusal: what matched, and for each the shortest target that means it alone.
function previews(most, alone) {
  return current.slice(0, most).map((element) => ({ markup: preview(element), target: alone ? uniqueTarget(element) : null }));
}

function uniqueTarget(element) {
  const role = roleOf(element);
  const name = nameOf(element);
  if (role && name && name.length <= 80 && !isHiddenForAria(element)) {
    const target = `role=${role}[name=${JSON.stringify(name)}]`;
    if (query(target).length === 1) return target;
  }
  return uniqueCss(element);
}

/// A CSS selector that matches the element alone, by ids or by position.
function uniqueCss(element) {
  const steps = [];
  for (let at = element; at; at = parentOrHost(at)) {
    const id = at.id && /^[A-Za-z]/.test(at.id) ? `#${CSS.escape(at.id)}` : null;
    if (id && queryCss(document, parseCss(id)).length === 1) {
      steps.unshift(id);
      return steps.join("");
    }
    const siblings = at.parentNode ? [...(at.parentNode.children ?? [])].filter((other) => other.localName === at.localName) : [];
    const tag = CSS.escape(at.localName);
    const step = siblings.length > 1 ? `${tag}:nth-of-type(${siblings.indexOf(at) + 1})` : tag;
    steps.unshift(step);
    const target = steps.join("");
    if (queryCss(document, parseCss(target)).length === 1) return target;
    steps.unshift(" > ");
  }
  steps.shift();
  return steps.join("");
}
