//! The grammar of CSS selectors with the pseudo-classes that look at text, visibility and layout.

const SELECTOR_PSEUDOS = ["is", "where", "not", "has", "light"];
const TEXT_PSEUDOS = ["text", "text-is", "has-text"];
const LAYOUT_NAMES = ["left-of", "right-of", "above", "below", "near"];
const OWN_PSEUDOS = new Set([...SELECTOR_PSEUDOS, ...TEXT_PSEUDOS, ...LAYOUT_NAMES, "text-matches", "scope", "visible", "nth-match"]);
const HINTS = { contains: ':has-text("…")', eq: ">> nth=…", first: ">> nth=0", last: ">> nth=-1" };

/// A selector list: complex selectors, each a list of compounds
/// `{ css, functions: [{ name, args }], combinator }`, where `combinator` binds a
/// compound to the next one; `css` is what the browser itself can match.
function parseCss(source) {
  const reader = { source, tokens: cssTokens(source), at: 0 };
  const list = readArguments(reader);
  if (reader.at < reader.tokens.length) unexpected(reader);
  if (list.some((one) => !Array.isArray(one))) cssError(source, 0, "a selector is expected, not a string or number");
  return list;
}

function peek(reader) {
  return reader.tokens[reader.at] ?? { kind: "end", text: "the end", at: reader.source.length };
}

function isDelim(token, characters) {
  return token.kind === "delim" && characters.includes(token.text);
}

function unexpected(reader) {
  const token = peek(reader);
  cssError(reader.source, token.at, token.kind === "end" ? "something is missing" : `unexpected ${JSON.stringify(token.text)}`);
}

function skipSpace(reader) {
  while (peek(reader).kind === "space") reader.at++;
}

/// What stands between the parentheses of one of our own pseudo-classes.
function readArguments(reader) {
  const values = [];
  for (;;) {
    skipSpace(reader);
    const token = peek(reader);
    if (token.kind === "number" || token.kind === "string") {
      values.push(token.value);
      reader.at++;
    } else values.push(readComplex(reader));
    skipSpace(reader);
    if (!isDelim(peek(reader), ",")) return values;
    reader.at++;
  }
}

function readComplex(reader) {
  const compounds = [];
  // A selector that begins with a combinator is relative to its scope.
  if (isDelim(peek(reader), ">+~")) compounds.push({ css: "", functions: [{ name: "scope", args: [] }], combinator: " " });
  else compounds.push(readCompound(reader));
  for (;;) {
    const before = reader.at;
    skipSpace(reader);
    const token = peek(reader);
    if (isDelim(token, ">+~")) {
      compounds[compounds.length - 1].combinator = token.text;
      reader.at++;
      skipSpace(reader);
    } else if (token.kind === "end" || isDelim(token, ",)") || reader.at === before) return compounds;
    compounds.push(readCompound(reader));
  }
}

function readCompound(reader) {
  const compound = { css: "", functions: [], combinator: " " };
  const first = reader.at;
  for (;;) {
    const token = peek(reader);
    if (token.kind === "end" || token.kind === "space" || isDelim(token, ",)>+~")) break;
    if (token.kind === "ident" || token.kind === "hash" || isDelim(token, "*")) {
      compound.css += token.text;
      reader.at++;
    } else if (isDelim(token, ".")) {
      reader.at++;
      if (peek(reader).kind !== "ident") unexpected(reader);
      compound.css += `.${peek(reader).text}`;
      reader.at++;
    } else if (isDelim(token, ":")) readPseudo(reader, compound);
    else if (isDelim(token, "[")) compound.css += readUntil(reader, "]");
    else unexpected(reader);
  }
  if (reader.at === first) unexpected(reader);
  if (compound.css !== "" && !isNativeCss(compound.css)) {
    cssError(reader.source, reader.tokens[first].at, `${JSON.stringify(compound.css)} is not a CSS selector`);
  }
  return compound;
}

function isNativeCss(css) {
  try {
    document.createDocumentFragment().querySelector(css);
    return true;
  } catch {
    return false;
  }
}

/// The source of an attribute test, to its closing bracket.
function readUntil(reader, closing) {
  let text = "";
  while (peek(reader).kind !== "end") {
    const token = peek(reader);
    text += token.text;
    reader.at++;
    if (isDelim(token, closing)) return text;
  }
  return cssError(reader.source, reader.source.length, `${closing} is missing`);
}

function readPseudo(reader, compound) {
  reader.at++;
  const head = peek(reader);
  if (head.kind !== "ident" && head.kind !== "function") unexpected(reader);
  const name = head.value.toLowerCase();
  if (Object.hasOwn(HINTS, name)) refuse(`:${name} is not CSS; use ${HINTS[name]}`);
  reader.at++;
  if (!OWN_PSEUDOS.has(name)) {
    compound.css += `:${head.text}${head.kind === "function" ? readBalanced(reader) : ""}`;
    return;
  }
  let args = [];
  if (head.kind === "function") {
    args = readArguments(reader);
    if (!isDelim(peek(reader), ")")) unexpected(reader);
    reader.at++;
  }
  compound.functions.push(checkedFunction(name, args));
}

/// The arguments of a pseudo-class of the browser's, with the parenthesis that closes them.
function readBalanced(reader) {
  let text = "";
  let depth = 1;
  while (peek(reader).kind !== "end") {
    const token = peek(reader);
    if (token.kind === "function" || isDelim(token, "(")) depth++;
    if (isDelim(token, ")")) depth--;
    text += token.text;
    reader.at++;
    if (depth === 0) return text;
  }
  return cssError(reader.source, reader.source.length, "a parenthesis is not closed");
}

/// The function, with its arguments checked; `:left-of` and its like and
/// `:nth-match` get their number apart as `number`.
function checkedFunction(name, args) {
  const selectors = (some) => some.length > 0 && some.every(Array.isArray);
  const strings = args.every((arg) => typeof arg === "string");
  if (name === "scope" || name === "visible") {
    if (args.length > 0) refuse(`:${name} takes no arguments`);
  } else if (SELECTOR_PSEUDOS.includes(name)) {
    if (!selectors(args)) refuse(`:${name} takes selectors in parentheses, without quotes`);
  } else if (TEXT_PSEUDOS.includes(name)) {
    if (!strings || args.length !== 1) refuse(`:${name} takes one string in quotes, for example :${name}("Save")`);
  } else if (name === "text-matches") {
    if (!strings || args.length < 1 || args.length > 2) refuse(`:text-matches takes one string or two, for example :text-matches("log\\s*in", "i")`);
    return { name, args, regex: makeRegex(args[0], args[1] ?? "", ":text-matches") };
  } else {
    const numbered = typeof args[args.length - 1] === "number";
    const number = numbered ? args[args.length - 1] : undefined;
    const list = numbered ? args.slice(0, -1) : args;
    const counts = name !== "nth-match" || (Number.isInteger(number) && number >= 1);
    if (!selectors(list) || !counts) {
      refuse(name === "nth-match"
        ? ":nth-match takes selectors and a whole number from 1, for example :nth-match(button, 2)"
        : `:${name} takes selectors and, if wanted, the most pixels, for example :${name}(#price, 120)`);
    }
    return { name, args: list, number };
  }
  return { name, args };
}
