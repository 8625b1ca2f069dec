//! A value of the page's own world as JSON, with what JSON can't say named by its path.

function (box, most) {
  const value = box[0];
  const place = (path) => (path === "" ? "the value" : `the value's ${path}`);
  const kindOf = (it) => Object.prototype.toString.call(it).slice(8, -1);
  const opaque = /^(Map|Set|WeakMap|WeakSet|WeakRef|Promise|RegExp|ArrayBuffer|SharedArrayBuffer|DataView|Window|Storage|Error|DOMException|Proxy|Generator|AsyncGenerator|Headers|FormData|URLSearchParams|NodeList|HTMLCollection|Blob|File|Response|Request)$/;
  const hints = {
    Map: "return Object.fromEntries(map) or [...map]", Set: "return [...set]", Error: "return its message", Promise: "await it first",
    NodeList: "return [...list].map(…) with what is wanted of each", HTMLCollection: "return [...list].map(…) with what is wanted of each",
    Headers: "return Object.fromEntries(headers)", FormData: "return [...form]", URLSearchParams: "return params.toString()",
  };
  const article = (word) => (/^[AEIOU]/.test(word) ? `an ${word}` : `a ${word}`);
  const left = [];
  const seen = [];
  let refused = "";
  const check = (it, path) => {
    if (refused) return;
    if (typeof it === "bigint") refused = `${place(path)} is a BigInt, which JSON has not; return String(…) of it`;
    else if (typeof it === "function" || typeof it === "symbol") {
      if (path === "") refused = `the value is a ${typeof it}, which JSON has not; return what it gives`;
      else left.push(`${path} (${typeof it})`);
    } else if (typeof it === "number" && !Number.isFinite(it)) left.push(`${path || "the value"} (${it}, null in JSON)`);
    else if (typeof it === "object" && it !== null && typeof it.toJSON !== "function") {
      const kind = kindOf(it);
      if (typeof it.nodeType === "number" && typeof it.nodeName === "string") {
        refused = `${place(path)} is a DOM node (${it.nodeName.toLowerCase()}), which JSON has not; return its text or attributes`;
      } else if (opaque.test(kind) || it instanceof Error) {
        const name = it instanceof Error ? "Error" : kind;
        refused = `${place(path)} is ${article(name)}, which JSON can't show; ${hints[name] ?? "return what is wanted of it"}`;
      }
    }
  };
  const step = (path, key, list) => (list ? `${path}[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`);
  const replacer = function (key, it) {
    if (refused) return undefined;
    while (seen.length > 0 && seen[seen.length - 1].it !== this) seen.pop();
    const parent = seen[seen.length - 1];
    const path = parent ? step(parent.path, key, Array.isArray(this)) : "";
    check(it, path);
    if (refused) return undefined;
    if (typeof it === "object" && it !== null) {
      const round = seen.find((other) => other.it === it);
      if (round) {
        refused = `${place(path)} leads back to ${place(round.path)}, a circle that JSON has not`;
        return undefined;
      }
      seen.push({ it, path });
    }
    return it;
  };
  let text;
  try {
    text = JSON.stringify(value, replacer);
  } catch (error) {
    return { refused: refused || `the value can't be written as JSON: ${String(error?.message ?? error)}` };
  }
  if (refused) return { refused };
  if (text === undefined) return { json: "undefined", bytes: 9, left: [] };
  return { json: text.slice(0, most).toWellFormed(), bytes: text.length <= most ? 0 : new TextEncoder().encode(text).length, left: left.slice(0, 10), more: Math.max(0, left.length - 10) };
}
