//! Selectors: the chain of parts, and the grammar of `role=`.

const BUILT_ENGINES = ["css", "role", "text", "nth", "visible"];
const OTHER_ENGINES = ["css:light", "text:light", "xpath", "id", "data-testid", "data-test-id", "data-test", "aria-ref"];

class Refusal extends Error {}

function refuse(text) {
  throw new Refusal(text);
}

/// Cuts a selector at its `>>`, outside of quotes.
function splitChain(selector) {
  const pieces = [];
  let start = 0;
  let quote = null;
  const inText = (end) => /^\s*text\s*=\s*\S/.test(selector.slice(start, end));
  for (let at = 0; at < selector.length; ) {
    const character = selector[at];
    if (character === "\\" && at + 1 < selector.length) at += 2;
    else if (character === quote) {
      quote = null;
      at++;
    } else if (!quote && (character === '"' || character === "'" || character === "`") && !inText(at)) {
      quote = character;
      at++;
    } else if (!quote && character === ">" && selector[at + 1] === ">") {
      pieces.push(selector.slice(start, at));
      at += 2;
      start = at;
    } else at++;
  }
  pieces.push(selector.slice(start));
  return pieces;
}

function parsePart(piece) {
  const text = piece.trim();
  if (text === "") refuse("a part of the target is empty: write a selector on each side of >>");
  const equals = text.indexOf("=");
  const before = equals === -1 ? "" : text.slice(0, equals).trim();
  const capture = before.startsWith("*");
  let name;
  let body;
  if (equals !== -1 && /^[A-Za-z_0-9\-+:*]+$/.test(before)) {
    name = capture ? before.slice(1) : before;
    body = text.slice(equals + 1);
  } else if (text.length > 1 && /^(".*"|'.*')$/s.test(text)) {
    name = "text";
    body = text;
  } else if (/^\(*\/\//.test(text) || text.startsWith("..")) {
    name = "xpath";
    body = text;
  } else {
    name = "css";
    body = text;
  }
  if (!BUILT_ENGINES.includes(name)) {
    const known = OTHER_ENGINES.includes(name);
    refuse(`${known ? "selector engine" : "unknown selector engine"} "${name}"${known ? " is not supported" : ""}; ` +
      `allowed are css, role= and text=, chained with >>, and nth= and visible= after them`);
  }
  return { name, body, capture: capture && name === before.slice(1) };
}

function parseSelector(selector) {
  const parts = splitChain(selector).map(parsePart);
  const captured = parts.findIndex((part) => part.capture);
  if (parts.filter((part) => part.capture).length > 1) refuse("only one part of a target can be captured with *");
  for (const part of parts) {
    if (part.name === "nth") {
      if (captured !== -1) refuse("* and nth= can't stand in one target");
      const index = Number(part.body.trim());
      if (!Number.isInteger(index) || part.body.trim() === "") refuse(`nth= takes a whole number (0 first, -1 last), not ${JSON.stringify(part.body)}`);
      part.index = index;
    } else if (part.name === "css") part.parsed = parseCss(part.body);
    else if (part.name === "text") part.matcher = textMatcher(part.body);
    else if (part.name === "role") part.query = parseRole(part.body);
  }
  return { parts, captured };
}

/// `button[name="Save"][pressed]` as a role and its tests.
function parseRole(body) {
  const source = body.trim();
  const role = /^[A-Za-z]*/.exec(source)[0].toLowerCase();
  if (role === "") refuse("role= needs a role, for example role=button[name=\"Save\"]");
  const attributes = [];
  let at = role.length;
  const fail = (what) => refuse(`role=${source}: ${what} at character ${at + 1}; write role=${role}[name="…"]`);
  const spaces = () => {
    while (/\s/.test(source[at] ?? "")) at++;
  };
  spaces();
  while (at < source.length) {
    if (source[at] !== "[") fail(`unexpected ${JSON.stringify(source[at])}`);
    at++;
    spaces();
    const name = /^[A-Za-z_][\w-]*/.exec(source.slice(at))?.[0];
    if (!name) fail("an attribute name is missing");
    at += name.length;
    spaces();
    if (source[at] === "]") {
      attributes.push({ name, op: null, value: true });
      at++;
      spaces();
      continue;
    }
    const op = /^[*^$|~]?=/.exec(source.slice(at))?.[0];
    if (!op) fail("an operator is missing (= *= ^= $= |= ~=)");
    at += op.length;
    spaces();
    const attribute = { name, op, value: null, insensitive: false };
    if (source[at] === '"' || source[at] === "'") readQuoted(attribute);
    else if (source[at] === "/" && op === "=") readRegex(attribute);
    else if (source[at] === "/") fail("a regular expression goes with = only");
    else {
      const word = /^[\w+.\-\u0080-\uffff]+/.exec(source.slice(at))?.[0];
      if (!word) fail("a value is missing");
      at += word.length;
      attribute.value = word === "true" ? true : word === "false" ? false : word;
      attribute.bare = true;
    }
    spaces();
    if (source[at] !== "]") fail(`unexpected ${JSON.stringify(source[at] ?? "the end")} in [${name}]`);
    at++;
    spaces();
    attributes.push(attribute);
  }

  function readQuoted(attribute) {
    const quote = source[at++];
    let value = "";
    while (at < source.length && source[at] !== quote) {
      if (source[at] === "\\") at++;
      value += source[at++] ?? "";
    }
    if (source[at] !== quote) fail("a quote is not closed");
    at++;
    attribute.value = value;
    spaces();
    if (/[iIsS]/.test(source[at] ?? "")) attribute.insensitive = source[at++].toLowerCase() === "i";
  }

  function readRegex(attribute) {
    const found = /^\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+)\/([a-z]*)/s.exec(source.slice(at));
    if (!found) fail("a regular expression is not closed");
    at += found[0].length;
    attribute.value = makeRegex(found[1], found[2], `role=${source}`);
  }

  return roleQuery(role, attributes);
}

function makeRegex(pattern, flags, where) {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    return refuse(`${where}: ${error.message}`);
  }
}

const ROLE_ATTRIBUTES = "checked description disabled expanded include-hidden level name pressed selected".split(" ");

function roleQuery(role, attributes) {
  const query = { role, tests: [], includeHidden: false, named: [] };
  const one = (attribute, allowed) => {
    if (attribute.op !== null && attribute.op !== "=") refuse(`[${attribute.name}] of role= takes = only, not ${attribute.op}`);
    if (!allowed.includes(attribute.value)) {
      refuse(`[${attribute.name}] of role= takes ${allowed.map((value) => (value === "mixed" ? '"mixed"' : value)).join(", ")}`);
    }
  };
  for (const attribute of attributes) {
    const { name } = attribute;
    if (ROLES_WITH[name] && name !== "disabled" && !ROLES_WITH[name].includes(role)) {
      refuse(`[${name}] goes with the roles ${[...ROLES_WITH[name]].sort().join(", ")}, not with ${role}`);
    }
    switch (name) {
      case "checked":
      case "pressed": {
        one(attribute, [true, false, "mixed"]);
        const state = name === "checked" ? checkedOf : pressedOf;
        query.tests.push((element) => state(element) === attribute.value);
        break;
      }
      case "selected":
      case "expanded":
      case "disabled": {
        one(attribute, [true, false]);
        const state = { selected: selectedOf, expanded: expandedOf, disabled: disabledOf }[name];
        query.tests.push((element) => state(element) === attribute.value);
        break;
      }
      case "level": {
        const level = Number(attribute.value);
        if (attribute.op !== "=" || attribute.value === true || !Number.isFinite(level)) refuse("[level] of role= takes a number, for example [level=2]");
        query.tests.push((element) => levelOf(element) === level);
        break;
      }
      case "include-hidden":
        one(attribute, [true, false]);
        query.includeHidden = attribute.value;
        break;
      case "name":
      case "description":
        if (attribute.op === null) refuse(`[${name}] of role= needs a value, for example [${name}="Save"]`);
        if (typeof attribute.value === "boolean") refuse(`[${name}] of role= takes a string or a /regular expression/, quote it: [${name}="${attribute.value}"]`);
        query.named.push(attribute);
        break;
      default:
        refuse(`role= has no attribute [${name}]; allowed are ${ROLE_ATTRIBUTES.join(", ")}`);
    }
  }
  return query;
}

function textHolds(actual, attribute) {
  if (attribute.value instanceof RegExp) {
    attribute.value.lastIndex = 0;
    return attribute.value.test(actual);
  }
  let have = actual;
  let want = normalize(attribute.value);
  if (attribute.insensitive) {
    have = have.toUpperCase();
    want = want.toUpperCase();
  }
  switch (attribute.op) {
    case "=": return have === want;
    case "*=": return want !== "" && have.includes(want);
    case "^=": return want !== "" && have.startsWith(want);
    case "$=": return want !== "" && have.endsWith(want);
    case "|=": return have === want || have.startsWith(want + "-");
    default: return have.split(" ").includes(want);
  }
}

function descriptionOf(element, withHidden) {
  const described = referenced(element, "aria-describedby");
  if (described.length) {
    return normalize(described.map((other) => nameText(other, { withHidden, visited: new Set(), at: "reference", hiddenReference: isHiddenForAria(other) })).join(" "));
  }
  const own = element.getAttribute("aria-description");
  if (own !== null) return normalize(own);
  return normalize(element.getAttribute("title") ?? "");
}
