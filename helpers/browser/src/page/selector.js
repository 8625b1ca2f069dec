//! Selectors: a chain of parts, each with an engine.

class Refusal extends Error {}

function refuse(text) {
  throw new Refusal(text);
}

const ATTRIBUTE_ENGINES = ["id", "data-testid", "data-test-id", "data-test"];
const ENGINES = ["css", "css:light", "text", "role", "xpath", ...ATTRIBUTE_ENGINES, "nth", "visible"];

/// Cuts a selector at its `>>`, outside of quotes.
function splitChain(selector) {
  const pieces = [];
  let start = 0;
  let quote = null;
  // In `text=it's` the quote is a letter like any other.
  const inText = (end) => /^\s*text\s*=.+$/.test(selector.slice(start, end));
  for (let at = 0; at < selector.length; at++) {
    const character = selector[at];
    if (character === "\\" && at + 1 < selector.length) at++;
    else if (character === quote) quote = null;
    else if (!quote && `"'\``.includes(character) && !inText(at)) quote = character;
    else if (!quote && character === ">" && selector[at + 1] === ">") {
      pieces.push(selector.slice(start, at));
      start = at + 2;
      at++;
    }
  }
  pieces.push(selector.slice(start));
  return pieces;
}

/// Engine, body and `*` of one piece, told by its beginning.
function namedPart(piece) {
  const text = piece.trim();
  const equals = text.indexOf("=");
  const before = equals === -1 ? "" : text.slice(0, equals).trim();
  if (/^[A-Za-z_0-9\-+:*]+$/.test(before)) {
    const capture = before.startsWith("*");
    return { name: capture ? before.slice(1) : before, body: text.slice(equals + 1), capture };
  }
  const quoted = text.length > 1 && (text[0] === '"' || text[0] === "'") && text.endsWith(text[0]);
  const name = quoted ? "text" : /^\(*\/\//.test(text) || text.startsWith("..") ? "xpath" : "css";
  return { name, body: text, capture: false };
}

// What models write who know Playwright's own language.
const CODE = {
  getByRole: 'role=button[name="Save"]', getByText: 'text=Save', getByLabel: 'role=textbox[name="Mail"]',
  getByPlaceholder: 'role=textbox[name="Mail"]', getByAltText: 'role=img[name="Logo"]', getByTitle: '[title="Help"]',
  getByTestId: "data-testid=save", locator: "the string alone",
};

function parsePart(piece) {
  const part = namedPart(piece);
  const code = /^(?:(?:await|page|frame)[. ])*(getBy\w+|locator)\(/.exec(part.body)?.[1];
  if (part.name === "css" && code && Object.hasOwn(CODE, code)) refuse(`${code}(…) is code, not a selector; write ${CODE[code]}`);
  if (part.name === "css" && part.body.trim() === "") refuse("a part of the target is empty: write a selector on each side of >>");
  if (!ENGINES.includes(part.name)) {
    refuse(`unknown selector engine "${part.name}"; allowed are ${ENGINES.map((name) => `${name}=`).join(", ")}, chained with >>`);
  }
  return { ...part, query: engineFor(part.name, part.body) };
}

/// A function from one scope to the elements found in it; null for `nth=`, which
/// looks at the whole set.
function engineFor(engine, body) {
  switch (engine) {
    case "css": case "css:light": {
      const list = parseCss(body);
      return (scope) => queryCss(scope, list, engine === "css");
    }
    case "text": {
      const matcher = textMatcher(body);
      return (scope) => queryText(scope, matcher);
    }
    case "role": {
      const wanted = parseRole(body);
      return (scope) => queryRole(scope, wanted);
    }
    case "xpath": return xpathEngine(body);
    case "visible": {
      const wanted = body === "true";
      return (scope) => (scope.nodeType === Node.ELEMENT_NODE && isVisible(scope) === wanted ? [scope] : []);
    }
    case "nth": return null;
    default: {
      const css = `[${engine}=${JSON.stringify(body)}]`;
      return (scope) => everyMatch({ scope, pierce: true }, css);
    }
  }
}

function xpathEngine(body) {
  try {
    document.createExpression(body, null);
  } catch {
    refuse(`xpath=${body}: not an XPath expression`);
  }
  return (scope) => {
    // An absolute path inside of an element means its descendants.
    const path = body.startsWith("/") && scope.nodeType !== Node.DOCUMENT_NODE ? `.${body}` : body;
    const found = [];
    try {
      const nodes = document.evaluate(path, scope, null, XPathResult.ORDERED_NODE_ITERATOR_TYPE);
      for (let node = nodes.iterateNext(); node; node = nodes.iterateNext()) if (node.nodeType === Node.ELEMENT_NODE) found.push(node);
    } catch (error) {
      refuse(`xpath=${body}: ${error.name === "TypeError" || error.name === "InvalidStateError" ? "it finds a value, not elements" : error.message}`);
    }
    return found;
  };
}

function parseSelector(selector) {
  const parts = splitChain(selector).map(parsePart);
  const captured = parts.findIndex((part) => part.capture);
  if (parts.filter((part) => part.capture).length > 1) refuse("only one part of a target can be captured with *");
  for (const part of parts.filter(({ name }) => name === "nth")) {
    if (captured !== -1) refuse("* and nth= can't stand in one target");
    part.index = wholeIndex(part.body);
  }
  return { parts, captured };
}

/// Place that `nth=` means, from 0, or from the end when negative; what is no
/// number means no place.
function wholeIndex(body) {
  const index = Math.trunc(Number(body));
  return Number.isSafeInteger(index) ? index : Number.MAX_SAFE_INTEGER;
}

function makeRegex(pattern, flags, where) {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    return refuse(`${where}: ${error.message}`);
  }
}
