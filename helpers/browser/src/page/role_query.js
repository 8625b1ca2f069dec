//! The grammar of `role=`, and what its attributes test.

const ROLE_ATTRIBUTES = "checked description disabled expanded include-hidden level name pressed selected".split(" ");
const ROLE_STATES = { checked: checkedOf, pressed: pressedOf, selected: selectedOf, expanded: expandedOf, disabled: disabledOf };

/// `button[name="Save"][pressed]` as a role and its attributes `{ name, op, value, insensitive }`.
function parseRole(body) {
  const reader = { source: body, at: 0 };
  const role = readRoleName(reader).toLowerCase();
  skipRoleSpace(reader);
  const attributes = [];
  while (body[reader.at] === "[") {
    attributes.push(readRoleAttribute(reader));
    skipRoleSpace(reader);
  }
  if (reader.at < body.length) roleError(reader, `unexpected ${JSON.stringify(body[reader.at])}`);
  if (role === "") refuse('role= needs a role, for example role=button[name="Save"]');
  return roleQuery(role, attributes);
}

function roleError(reader, what) {
  refuse(`role=${reader.source}: ${what} at character ${reader.at + 1}; write role=button[name="…"], values with spaces in quotes`);
}

function skipRoleSpace(reader) {
  while (/\s/.test(reader.source[reader.at] ?? "")) reader.at++;
}

function takeWhile(reader, pattern) {
  const start = reader.at;
  while (reader.at < reader.source.length && pattern.test(reader.source[reader.at])) reader.at++;
  return reader.source.slice(start, reader.at);
}

function readRoleName(reader) {
  skipRoleSpace(reader);
  return takeWhile(reader, /[\w\-\u0080-\uffff]/);
}

function readRoleAttribute(reader) {
  const { source } = reader;
  reader.at++;
  skipRoleSpace(reader);
  const quoted = source[reader.at] === '"' || source[reader.at] === "'";
  const name = quoted ? readRoleString(reader) : readRoleName(reader);
  if (name === "") roleError(reader, "an attribute name is missing");
  skipRoleSpace(reader);
  if (source[reader.at] === "]") {
    reader.at++;
    return { name, op: null, value: true, insensitive: false };
  }
  const op = /^[*^$|~]?=/.exec(source.slice(reader.at, reader.at + 2))?.[0];
  if (!op) roleError(reader, "an operator is missing (= *= ^= $= |= ~=)");
  reader.at += op.length;
  skipRoleSpace(reader);
  const attribute = { name, op, ...readRoleValue(reader, op) };
  skipRoleSpace(reader);
  if (source[reader.at] !== "]") roleError(reader, `unexpected ${JSON.stringify(source[reader.at] ?? "the end")} in [${name}]`);
  reader.at++;
  return attribute;
}

function readRoleValue(reader, op) {
  const { source } = reader;
  const first = source[reader.at];
  if (first === "/") {
    if (op !== "=") roleError(reader, "a regular expression goes with = only,");
    return { value: readRoleRegex(reader), insensitive: false };
  }
  if (first === '"' || first === "'") {
    const value = readRoleString(reader);
    skipRoleSpace(reader);
    const flag = /[iIsS]/.test(source[reader.at] ?? "") ? source[reader.at++] : "";
    return { value, insensitive: flag.toLowerCase() === "i" };
  }
  const word = takeWhile(reader, /[\w\-\u0080-\uffff+.]/);
  const value = word === "true" ? true : word === "false" ? false : word;
  if (typeof value === "boolean" && op !== "=") roleError(reader, `${op} does not go with ${word}`);
  return { value, insensitive: false };
}

function readRoleString(reader) {
  const quote = reader.source[reader.at++];
  let value = "";
  while (reader.at < reader.source.length && reader.source[reader.at] !== quote) {
    if (reader.source[reader.at] === "\\") reader.at++;
    value += reader.source[reader.at++] ?? "";
  }
  if (reader.source[reader.at] !== quote) roleError(reader, "a quote is not closed");
  reader.at++;
  return value;
}

function readRoleRegex(reader) {
  const found = /^\/((?:\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[^/\\[])*)\/([dgimsuy]*)/.exec(reader.source.slice(reader.at));
  if (!found) roleError(reader, "a regular expression is not closed");
  reader.at += found[0].length;
  return makeRegex(found[1], found[2], `role=${reader.source}`);
}

/// Tests of an element; of two attributes with one name the later one counts.
function roleQuery(role, attributes) {
  const query = { role, states: new Map(), texts: new Map(), includeHidden: false };
  for (const attribute of attributes) {
    const { name, op, value } = attribute;
    if (!ROLE_ATTRIBUTES.includes(name)) refuse(`role= has no attribute [${name}]; allowed are ${ROLE_ATTRIBUTES.join(", ")}`);
    if (ROLES_WITH[name] && name !== "disabled" && !ROLES_WITH[name].includes(role)) {
      refuse(`[${name}] goes with the roles ${[...ROLES_WITH[name]].sort().join(", ")}, not with ${role}`);
    }
    if (name === "name" || name === "description") {
      if (op === null) refuse(`[${name}] of role= needs a value, for example [${name}="Save"]`);
      if (typeof value === "boolean") refuse(`[${name}] of role= takes a string or a /regular expression/, quote it: [${name}="${value}"]`);
      query.texts.set(name, attribute);
    } else if (name === "level") {
      const level = typeof value === "string" ? Number(value) : NaN;
      if (op !== "=" || Number.isNaN(level)) refuse("[level] of role= takes a number, for example [level=2]");
      query.states.set(name, (element) => levelOf(element) === level);
    } else {
      const allowed = name === "checked" || name === "pressed" ? [true, false, "mixed"] : [true, false];
      if (op !== null && op !== "=") refuse(`[${name}] of role= takes = only, not ${op}`);
      if (!allowed.includes(value)) refuse(`[${name}] of role= takes ${allowed.join(", ")}, not ${JSON.stringify(String(value))}`);
      if (name === "include-hidden") query.includeHidden = value;
      else query.states.set(name, (element) => ROLE_STATES[name](element) === value);
    }
  }
  return query;
}

function textHolds(actual, { value, op, insensitive }) {
  if (value instanceof RegExp) return actual.search(value) !== -1;
  const fold = (text) => (insensitive ? text.toUpperCase() : text);
  const have = fold(actual);
  const want = fold(normalize(value));
  switch (op) {
    case "=": return have === want;
    case "*=": return have.includes(want);
    case "^=": return have.startsWith(want);
    case "$=": return have.endsWith(want);
    case "|=": return have === want || have.startsWith(`${want}-`);
    default: return have.split(" ").includes(want);
  }
}

function queryRole(scope, { role, states, texts, includeHidden }) {
  return everyElement(scope).filter((element) => {
    if (roleOf(element) !== role) return false;
    for (const holds of states.values()) if (!holds(element)) return false;
    if (!includeHidden && isHiddenForAria(element)) return false;
    for (const [name, attribute] of texts) {
      const text = name === "name" ? nameOf(element, includeHidden) : descriptionOf(element, includeHidden);
      if (!textHolds(text, attribute)) return false;
    }
    return true;
  });
}
