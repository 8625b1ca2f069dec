//! Evaluation: a chain of parts over the frames of a page.

function evaluatePart(part, set) {
  if (part.name === "nth") return part.index < 0 ? set.slice(part.index).slice(0, 1) : set.slice(part.index, part.index + 1);
  const found = new Set();
  for (const scope of set) for (const element of part.query(scope)) found.add(element);
  return [...found];
}

/// A chain in this document alone; with a captured part, that part's elements
/// in which the rest finds something.
function evaluateChain({ parts, captured }) {
  const run = (some, start) => some.reduce((set, part) => evaluatePart(part, set), start);
  if (captured === -1) return run(parts, [document]);
  const rest = parts.slice(captured + 1);
  return run(parts.slice(0, captured + 1), [document]).filter((element) => run(rest, [element]).length > 0);
}

/// All matches in this document alone.
function query(selector) {
  return evaluateChain(parseSelector(selector));
}

// A target is resolved in every frame at once: each frame goes as far as the next
// nth=, the caller counts over all frames and tells each what is left of its set.
let chain = null;
let position = 0;
let current = [];

function advance() {
  if (chain.captured !== -1) {
    current = evaluateChain(chain);
    position = chain.parts.length;
  }
  while (position < chain.parts.length && chain.parts[position].name !== "nth") {
    current = evaluatePart(chain.parts[position++], current);
  }
  if (position === chain.parts.length) current = current.filter((node) => node.nodeType === Node.ELEMENT_NODE);
  return { count: current.length, nth: chain.parts[position]?.index ?? null };
}

function parsedOrExplained(selector) {
  try {
    return parseSelector(selector);
  } catch (error) {
    if (error instanceof Refusal) refuse(explained(selector, error.message));
    throw error;
  }
}

function begin(selector) {
  forget();
  chain = parsedOrExplained(selector);
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
