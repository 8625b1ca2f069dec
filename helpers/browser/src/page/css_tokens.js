//! The tokens of CSS (CSS Syntax Level 3, section 4), as far as a selector needs them.

const CSS_ESCAPE = String.raw`\\(?:[0-9a-fA-F]{1,6}[ \t\n\r\f]?|[^\n\r\f0-9a-fA-F]|$)`;
const CSS_NAME = String.raw`(?:[\w-]|[\u0080-\uffff]|${CSS_ESCAPE})`;
const CSS_IDENT = String.raw`(?:--|-?(?:[A-Za-z_]|[\u0080-\uffff]|${CSS_ESCAPE}))${CSS_NAME}*`;

// In the order in which they are tried; what none of them takes is one `delim`.
const CSS_TOKENS = [
  ["comment", String.raw`/\*[\s\S]*?(?:\*/|$)`],
  ["space", String.raw`[ \t\n\r\f]+`],
  ["string", String.raw`"(?:[^"\\\n\r\f]|\\[\s\S]|\\$)*(?:"|$)`],
  ["string", String.raw`'(?:[^'\\\n\r\f]|\\[\s\S]|\\$)*(?:'|$)`],
  ["hash", `#${CSS_NAME}+`],
  ["refused", String.raw`[+-]?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?%`],
  ["dimension", String.raw`[+-]?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?${CSS_IDENT}`],
  ["number", String.raw`[+-]?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?`],
  ["refused", String.raw`<!--|-->|@${CSS_IDENT}|\|\||[;{}]`],
  ["refused", String.raw`[uU][rR][lL]\([ \t\n\r\f]*(?!["' \t\n\r\f])`],
  ["function", String.raw`${CSS_IDENT}\(`],
  ["ident", CSS_IDENT],
].map(([kind, pattern]) => ({ kind, pattern: new RegExp(pattern, "y") }));

/// `{ kind, text, value, at }` for each token of `source`, without comments.
function cssTokens(source) {
  const tokens = [];
  for (let at = 0; at < source.length; ) {
    const token = cssTokenAt(source, at);
    if (token.kind === "refused") cssError(source, at, `unexpected ${JSON.stringify(token.text)}`);
    if ((token.text === '"' || token.text === "'") && token.kind === "delim") cssError(source, at, "a line ends inside of quotes");
    if (token.kind !== "comment") tokens.push(token);
    at += token.text.length;
  }
  return tokens;
}

function cssTokenAt(source, at) {
  for (const { kind, pattern } of CSS_TOKENS) {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0];
    if (text) return { kind, text, value: cssTokenValue(kind, text), at };
  }
  return { kind: "delim", text: source[at], value: source[at], at };
}

function cssTokenValue(kind, text) {
  switch (kind) {
    case "string": return cssUnescape(text.slice(1, text.length > 1 && text.endsWith(text[0]) ? -1 : undefined));
    case "function": return cssUnescape(text.slice(0, -1));
    case "ident": return cssUnescape(text);
    case "number": return Number(text);
    default: return text;
  }
}

function cssUnescape(text) {
  return text.replace(/\\(?:([0-9a-fA-F]{1,6})[ \t\n\r\f]?|(\r\n|[\n\r\f])|([\s\S])|$)/g, (_, code, newline, plain) => {
    if (newline !== undefined) return "";
    if (plain !== undefined) return plain;
    const point = code === undefined ? 0 : parseInt(code, 16);
    const valid = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return String.fromCodePoint(valid ? point : 0xfffd);
  });
}

function cssError(source, at, what) {
  refuse(`css=${source}: ${what} at character ${at + 1}; write a class or id with special characters as CSS.escape does`);
}
