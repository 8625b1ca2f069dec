//! What a caller may have meant by a target that is none, or that finds nothing.

// How other tools number the elements of their trees.
const REFERENCE = /^(?:@|(?:aria-)?ref=|\[ref=)?["']?(?:[fs]\d+)?e\d+["']?\]?$/;
const NO_REFERENCES = "references such as e3 are another tool's; role and name, or a [target=…], of browser_snapshot make a target";
const MOST_NEAR = 3;

/// A refusal's sentence with what to write instead, where that can be told.
function explained(selector, sentence) {
  const text = selector.trim();
  if (REFERENCE.test(text)) return `${sentence}; ${NO_REFERENCES}`;
  const better = fromTreeLine(text);
  if (better) return `${selector} is written as the tree writes it; as a target write ${better}`;
  const place = /\[nth=(-?\d+)\]/.exec(text)?.[1];
  return place ? `${sentence}; a place is a part of its own: >> nth=${place}` : sentence;
}

/// The target that a line of the tree offers, or null.
function fromTreeLine(text) {
  const own = /\[target=(.*)\](?::.*)?$/.exec(text)?.[1];
  if (own) return own;
  const line = /^(?:- |role=)?([a-z]+) ("(?:[^"\\]|\\[\s\S])*")((?: \[[^\]]*\])*)/.exec(text);
  if (!line || !VALID_ROLES.has(line[1])) return null;
  const place = /\[nth=(\d+)\]/.exec(line[3])?.[1];
  return `role=${line[1]}[name=${line[2]}]${place ? ` >> nth=${place}` : ""}`;
}

/// Refuses at once what will not come: a valid selector that is meant as a reference.
function refuseReference(selector) {
  if (REFERENCE.test(selector.trim())) refuse(`no element matches ${selector}\n${NO_REFERENCES}`);
}

/// The words that a target looks for: what it has in quotes last, or what it is itself.
function wordsOf(selector) {
  const quotes = [...selector.matchAll(/"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'/g)].pop();
  const words = quotes ? (quotes[1] ?? quotes[2]).replace(/\\([\s\S])/g, "$1") : /^(?:text=)?([^=[\]/#>:.*]+)$/.exec(selector.trim())?.[1];
  return normalize(words ?? "").toLowerCase();
}

/// Targets of what can be acted on here and has the words in its name, the likeliest first.
function nearMisses(selector) {
  forget();
  const words = wordsOf(selector);
  if (words === "") return [];
  const near = [];
  for (const element of everyElement(document)) {
    if (!INTERACTIVE.has(roleOf(element) ?? "") || !isVisible(element)) continue;
    const name = nameOf(element, isHiddenForAria(element)).toLowerCase();
    if (name.includes(words)) near.push({ element, more: name.length - words.length });
  }
  near.sort((a, b) => a.more - b.more);
  const targets = new Set();
  for (const { element } of near) {
    const named = !isHiddenForAria(element) && isPrintable(nameOf(element));
    if (targets.size < MOST_NEAR) targets.add(named ? `role=${roleOf(element)}[name=${quoted(nameOf(element))}]` : uniqueCss(element));
  }
  return [...targets];
}
