//! Matching of CSS selectors over open shadow roots.
//!
//! A context is `{ scope, pierce, original }`: elements are looked for inside of
//! `scope`, in shadow roots too when `pierce`; `:scope` means `original` where the
//! scope was widened to its parent so that it can be found itself.

const FUNCTIONS = {
  is: { matches: (element, fn, cx) => matchesList(element, fn.args, cx), query: (fn, cx) => queryList(cx, fn.args) },
  not: { matches: (element, fn, cx) => !matchesList(element, fn.args, cx) },
  has: { matches: (element, fn, cx) => queryList({ ...cx, scope: element }, fn.args).length > 0 },
  light: {
    matches: (element, fn, cx) => matchesList(element, fn.args, { ...cx, pierce: false }),
    query: (fn, cx) => queryList({ ...cx, pierce: false }, fn.args),
  },
  scope: { matches: (element, _, cx) => element === scopeElement(cx), query: (_, cx) => [scopeElement(cx)].filter(Boolean) },
  visible: { matches: (element) => isVisible(element) },
  text: { matches: (element, fn) => smallestText(element, holdsText(fn.args[0])) === "self" },
  "text-is": { matches: (element, fn) => smallestText(element, holdsRun(fn.args[0])) !== "none" },
  "text-matches": { matches: (element, fn) => smallestText(element, (text) => text.full.search(fn.regex) !== -1) === "self" },
  "has-text": { matches: (element, fn) => !hasNoText(element) && holdsText(fn.args[0])(textOf(element)) },
  "nth-match": { query: (fn, cx) => queryList(cx, fn.args).slice(fn.number - 1, fn.number) },
};
FUNCTIONS.where = FUNCTIONS.is;
for (const name of LAYOUT_NAMES) {
  FUNCTIONS[name] = {
    matches: (element, fn, cx) => {
      const distance = nearestOf(name, element, queryList(cx, fn.args), fn.number);
      if (distance !== undefined) distances?.set(element, distance);
      return distance !== undefined;
    },
  };
}

// The same list is asked for again for each element that it is tried on.
let cssResults = new Map();
// Layout pseudo-classes order what the selector around them finds.
let distances = null;

/// Elements under `scope` in the order that `nth=` counts in.
function queryCss(scope, list, pierce = true) {
  return queryList({ scope, pierce, original: null }, list);
}

function queryList(cx, list) {
  let known = cssResults.get(list);
  if (!known) cssResults.set(list, (known = []));
  let result = known.find((one) => one.scope === cx.scope && one.pierce === cx.pierce && one.original === cx.original);
  if (!result) {
    const elements = list.flatMap((complex) => queryComplex(cx, complex));
    result = { ...cx, elements: list.length > 1 ? inDocumentOrder(elements) : elements };
    known.push(result);
  }
  return result.elements;
}

function queryComplex(given, complex) {
  const cx = widenedFor(complex, given);
  const outer = distances;
  distances = new Map();
  const last = complex.length - 1;
  const elements = queryCompound(cx, complex[last]).filter((element) => matchesBefore(element, complex, last - 1, cx));
  const found = distances;
  distances = outer;
  if (found.size > 0) elements.sort((a, b) => (found.get(a) ?? Infinity) - (found.get(b) ?? Infinity) || 0);
  return elements;
}

function queryCompound(cx, compound) {
  const { css, functions } = compound;
  if (functions.length === 0) return everyMatch(cx, css);
  if (css !== "" && css !== "*") return functions.reduce((elements, fn) => elements.filter((element) => holds(element, fn, cx)), everyMatch(cx, css));
  const source = Math.max(0, functions.findIndex((fn) => FUNCTIONS[fn.name].query));
  const { query } = FUNCTIONS[functions[source].name];
  const rest = functions.filter((_, at) => at !== source);
  const elements = query ? query(functions[source], cx) : everyMatch(cx, "*").filter((element) => holds(element, functions[source], cx));
  return rest.reduce((some, fn) => some.filter((element) => holds(element, fn, cx)), elements);
}

function holds(element, fn, cx) {
  const { matches, query } = FUNCTIONS[fn.name];
  return matches ? matches(element, fn, cx) : query(fn, cx).includes(element);
}

function matchesList(element, list, cx) {
  return list.some((complex) => {
    const own = widenedFor(complex, cx);
    const last = complex.length - 1;
    return matchesCompound(element, complex[last], own) && matchesBefore(element, complex, last - 1, own);
  });
}

function matchesCompound(element, { css, functions }, cx) {
  if (element === cx.scope) return false;
  if (css !== "" && !element.matches(css)) return false;
  return functions.every((fn) => holds(element, fn, cx));
}

/// Do the compounds up to `at` hold for what stands before `element`?
function matchesBefore(element, complex, at, cx) {
  if (at < 0) return true;
  const { combinator } = complex[at];
  const near = combinator === ">" || combinator === "+";
  const before = combinator === ">" || combinator === " " ? above : beside;
  for (let other = before(element, cx); other; other = before(other, cx)) {
    if (matchesCompound(other, complex[at], cx) && matchesBefore(other, complex, at - 1, cx)) return true;
    if (near) return false;
  }
  return false;
}

function above(element, cx) {
  if (element === cx.scope) return null;
  return cx.pierce ? parentOrHost(element) : element.parentElement;
}

function beside(element, cx) {
  return element === cx.scope ? null : element.previousElementSibling;
}

function scopeElement({ scope, original }) {
  const meant = original ?? scope;
  if (meant.nodeType === Node.DOCUMENT_NODE) return meant.documentElement;
  return meant.nodeType === Node.ELEMENT_NODE ? meant : null;
}

/// A selector with `:scope` in it looks from the scope's parent.
function widenedFor(complex, cx) {
  const scoped = complex.some(({ functions }) => functions.some(({ name }) => name === "scope"));
  if (!scoped || cx.scope.nodeType !== Node.ELEMENT_NODE) return cx;
  const parent = parentOrHost(cx.scope);
  return parent ? { ...cx, scope: parent, original: cx.original ?? cx.scope } : cx;
}

/// Light matches of a root first, then those of the shadow roots in it.
function everyMatch(cx, css) {
  const found = [];
  const visit = (root) => {
    for (const element of root.querySelectorAll(css)) found.push(element);
    if (!cx.pierce) return;
    for (const shadow of shadowRootsIn(root)) visit(shadow);
  };
  visit(cx.scope);
  return found;
}

/// Each element once, in the order of the page, light children before shadow ones.
function inDocumentOrder(elements) {
  if (elements.length < 2) return elements;
  const places = new Map();
  const path = (element) => {
    const known = places.get(element);
    if (known) return known;
    const parent = element.parentNode;
    const above = parentOrHost(element);
    const here = [parent?.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? 1 : 0, placeAmong(element)];
    const whole = above ? [...path(above), ...here] : here;
    places.set(element, whole);
    return whole;
  };
  return [...new Set(elements)].sort((a, b) => comparePaths(path(a), path(b)));
}

function comparePaths(a, b) {
  for (let at = 0; at < a.length && at < b.length; at++) if (a[at] !== b[at]) return a[at] - b[at];
  return a.length - b.length;
}

function placeAmong(element) {
  const parent = element.parentNode;
  if (!parent) return 0;
  let known = placesOf.get(parent);
  if (!known) {
    known = new Map([...(parent.children ?? [])].map((child, at) => [child, at]));
    placesOf.set(parent, known);
  }
  return known.get(element) ?? 0;
}
