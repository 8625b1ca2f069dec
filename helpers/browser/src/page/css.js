//! CSS selectors that pierce open shadow roots, with the pseudo-classes that look at text and visibility.

const OWN_PSEUDOS = ["has-text", "text", "text-is", "text-matches", "visible", "nth-match", "light"];
const NESTING_PSEUDOS = ["is", "where", "not", "has"];
const HINTS = { contains: ':has-text("…")', eq: ">> nth=…", first: ">> nth=0", last: ">> nth=-1" };

/// A selector list: complex selectors of compounds `{ css, tests, combinator }`,
/// where `combinator` binds a compound to the one before it.
function parseCss(source) {
  const reader = { source, at: 0 };
  const list = readList(reader, false);
  if (reader.at < source.length) cssError(reader, `unexpected ${JSON.stringify(source[reader.at])}`);
  return list;
}

function cssError(reader, what) {
  refuse(`css=${reader.source}: ${what} at character ${reader.at + 1}; write a class or id with special characters as CSS.escape does`);
}

function skipSpace(reader) {
  const start = reader.at;
  while (/\s/.test(reader.source[reader.at] ?? "")) reader.at++;
  return reader.at > start;
}

function readList(reader, relative) {
  const list = [];
  for (;;) {
    list.push(readComplex(reader, relative));
    skipSpace(reader);
    if (reader.source[reader.at] !== ",") return list;
    reader.at++;
  }
}

function readComplex(reader, relative) {
  const compounds = [];
  skipSpace(reader);
  let combinator = relative ? " " : "";
  if (/[>+~]/.test(reader.source[reader.at] ?? "")) {
    combinator = reader.source[reader.at++];
    skipSpace(reader);
  }
  if (combinator !== "") compounds.push({ css: "", tests: [], scope: true, combinator: "" });
  for (;;) {
    const compound = readCompound(reader);
    compound.combinator = combinator;
    compounds.push(compound);
    const spaced = skipSpace(reader);
    const next = reader.source[reader.at];
    if (next === undefined || next === "," || next === ")") return compounds;
    if (/[>+~]/.test(next)) {
      combinator = next;
      reader.at++;
      skipSpace(reader);
    } else if (spaced) combinator = " ";
    else cssError(reader, `unexpected ${JSON.stringify(next)}`);
  }
}

function readCompound(reader) {
  const compound = { css: "", tests: [], scope: false, combinator: "" };
  const start = reader.at;
  for (;;) {
    const rest = reader.source.slice(reader.at);
    const plain = /^(?:\*|[.#]?-?(?:[_a-zA-Z\u0080-\uffff]|\\[^\n]|-)(?:[\w-]|[\u0080-\uffff]|\\[^\n])*)/.exec(rest);
    const attribute = /^\[\s*[\w:|\\-]+\s*(?:[*^$|~]?=\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s\]"']+)\s*[iIsS]?\s*)?\]/s.exec(rest);
    if (plain && (/^[.#]/.test(rest) || reader.at === start)) {
      compound.css += plain[0];
      reader.at += plain[0].length;
    } else if (attribute) {
      compound.css += attribute[0];
      reader.at += attribute[0].length;
    } else if (rest[0] === ":") readPseudo(reader, compound);
    else break;
  }
  if (reader.at === start) cssError(reader, `unexpected ${JSON.stringify(reader.source[reader.at] ?? "the end")}`);
  try {
    if (compound.css) document.createDocumentFragment().querySelector(compound.css);
  } catch {
    cssError(reader, `${JSON.stringify(compound.css)} is not a CSS selector`);
  }
  return compound;
}

function readPseudo(reader, compound) {
  const head = /^::?[\w-]+/.exec(reader.source.slice(reader.at))?.[0];
  if (!head) cssError(reader, "a pseudo-class is missing");
  const name = head.slice(1).toLowerCase();
  if (HINTS[name]) refuse(`:${name} is not CSS; use ${HINTS[name]}`);
  reader.at += head.length;
  const open = reader.source[reader.at] === "(";
  if (name === "scope" && !open) {
    compound.scope = true;
    return;
  }
  if (!open) {
    if (name === "visible") compound.tests.push((element) => isVisible(element));
    else if (OWN_PSEUDOS.includes(name)) refuse(`:${name} needs an argument in parentheses`);
    else compound.css += head;
    return;
  }
  reader.at++;
  if (NESTING_PSEUDOS.includes(name)) {
    const list = readList(reader, name === "has");
    closeParenthesis(reader);
    compound.tests.push(nestingTest(name, list));
  } else if (name === "nth-match") {
    const inner = readNthMatch(reader);
    compound.tests.push((element, cx) => queryCss(cx.root, inner.list)[inner.index - 1] === element);
  } else if (name === "light") refuse(":light( is not supported; leave it out, open shadow roots are searched too");
  else if (OWN_PSEUDOS.includes(name)) {
    compound.tests.push(textTest(name, readArguments(reader)));
  } else {
    const end = matchingParenthesis(reader);
    compound.css += `${head}(${reader.source.slice(reader.at, end)})`;
    reader.at = end + 1;
  }
}

function nestingTest(name, list) {
  if (name === "has") return (element, cx) => queryCss(element, list, cx.root).length > 0;
  if (name === "not") return (element, cx) => !list.some((complex) => matchesComplex(element, complex, cx));
  return (element, cx) => list.some((complex) => matchesComplex(element, complex, cx));
}

function closeParenthesis(reader) {
  skipSpace(reader);
  if (reader.source[reader.at] !== ")") cssError(reader, "a parenthesis is not closed");
  reader.at++;
}

function matchingParenthesis(reader) {
  let depth = 1;
  for (let at = reader.at; at < reader.source.length; at++) {
    const character = reader.source[at];
    if (character === "\\") at++;
    else if (character === '"' || character === "'") {
      const end = reader.source.indexOf(character, at + 1);
      if (end === -1) break;
      at = end;
    } else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at;
  }
  return cssError(reader, "a parenthesis is not closed");
}

function readArguments(reader) {
  const values = [];
  for (;;) {
    skipSpace(reader);
    const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')/s.exec(reader.source.slice(reader.at));
    if (!quoted) cssError(reader, "a string in quotes is expected");
    values.push((quoted[1] ?? quoted[2]).replace(/\\(.)/gs, "$1"));
    reader.at += quoted[0].length;
    skipSpace(reader);
    if (reader.source[reader.at] !== ",") break;
    reader.at++;
  }
  closeParenthesis(reader);
  return values;
}

function readNthMatch(reader) {
  const list = [readComplex(reader, false)];
  for (;;) {
    skipSpace(reader);
    if (reader.source[reader.at] !== ",") cssError(reader, ":nth-match takes a selector, a comma and a number");
    reader.at++;
    const number = /^\s*(\d+)\s*\)/.exec(reader.source.slice(reader.at));
    if (number) {
      reader.at += number[0].length;
      if (Number(number[1]) < 1) refuse(":nth-match counts from 1");
      return { list, index: Number(number[1]) };
    }
    list.push(readComplex(reader, false));
  }
}

function textTest(name, values) {
  if (name === "text-matches") {
    const regex = makeRegex(values[0], values[1] ?? "", ":text-matches");
    return (element) => smallestText(element, (text) => regex.test(text.full)) === "self";
  }
  if (values.length !== 1) refuse(`:${name} takes one string`);
  const folded = normalize(values[0]).toLowerCase();
  if (name === "has-text") {
    return (element) => !SKIPPED_TEXT.has(element.tagName) && textOf(element).normal.toLowerCase().includes(folded);
  }
  if (name === "text") return (element) => smallestText(element, (text) => text.normal.toLowerCase().includes(folded)) === "self";
  const exact = normalize(values[0]);
  return (element) => {
    const { immediate } = textOf(element);
    return exact === "" ? immediate.length === 0 : immediate.includes(exact);
  };
}

function matchesCompound(element, compound, cx) {
  if (compound.scope && element !== cx.scope) return false;
  if (compound.css && !element.matches(compound.css)) return false;
  return compound.tests.every((test) => test(element, cx));
}

function matchesComplex(element, complex, cx, from = complex.length - 1) {
  if (!matchesCompound(element, complex[from], cx)) return false;
  if (from === 0) return true;
  const up = (at) => (at === cx.scope ? null : parentOrHost(at));
  switch (complex[from].combinator) {
    case ">": {
      const parent = up(element);
      return parent !== null && matchesComplex(parent, complex, cx, from - 1);
    }
    case " ":
      for (let at = up(element); at; at = up(at)) if (matchesComplex(at, complex, cx, from - 1)) return true;
      return false;
    case "+":
      return element.previousElementSibling !== null && matchesComplex(element.previousElementSibling, complex, cx, from - 1);
    default:
      for (let at = element.previousElementSibling; at; at = at.previousElementSibling) {
        if (matchesComplex(at, complex, cx, from - 1)) return true;
      }
      return false;
  }
}

/// Matches under `scope`, light elements before those of shadow roots; of more
/// than one selector, in document order.
function queryCss(scope, list, root = scope) {
  const cx = { scope: scope.nodeType === Node.DOCUMENT_NODE ? scope.documentElement : scope, root };
  const found = new Set();
  for (const complex of list) {
    const last = complex[complex.length - 1];
    // `:has(+ x)` looks beside its scope, not inside it.
    const beside = complex[0].scope && /[+~]/.test(complex[1]?.combinator ?? "");
    for (const element of candidates(beside ? scope.parentNode : scope, last.css || "*")) {
      if (matchesComplex(element, complex, cx)) found.add(element);
    }
  }
  const elements = [...found];
  return list.length > 1 ? inDocumentOrder(elements) : elements;
}

function candidates(scope, css) {
  const found = [];
  const visit = (root) => {
    for (const element of root.querySelectorAll(css)) found.push(element);
    if (root.shadowRoot) visit(root.shadowRoot);
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) visit(element.shadowRoot);
  };
  visit(scope);
  return found;
}

function inDocumentOrder(elements) {
  if (elements.length < 2) return elements;
  const places = new Map();
  const wanted = new Set(elements);
  let place = 0;
  const visit = (node) => {
    if (wanted.has(node)) places.set(node, place++);
    for (const child of node.shadowRoot?.children ?? []) visit(child);
    for (const child of node.children ?? []) visit(child);
  };
  visit(document);
  return elements.sort((a, b) => places.get(a) - places.get(b));
}
