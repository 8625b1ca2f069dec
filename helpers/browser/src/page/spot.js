//! Targets for an element that was found: by role and name, else by ids and places.

// What a result is cleared of, and what does not survive the way to a reader.
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|data:\S*,/iu;
const LONGEST_NAME = 80;
// On a page of thousands of nameless things a short selector is not looked for at every step.
const MOST_TRIES = 400;

let tries = 0;

/// Does a reader see this name as it is, so that it can be written in a target?
function isPrintable(text) {
  return !UNPRINTABLE.test(text);
}

/// Lines for a refusal: what matched, and for each the shortest target that means it alone.
function previews(most, alone) {
  return current.slice(0, most).map((element) => ({ markup: preview(element), target: alone ? uniqueTarget(element) : null }));
}

/// A name in quotes as `role=` reads it.
function quoted(name) {
  return `"${name.replace(/[\\"]/g, "\\$&")}"`;
}

function uniqueTarget(element) {
  const role = roleOf(element);
  const name = nameOf(element);
  if (role && name && name.length <= LONGEST_NAME && isPrintable(name) && !isHiddenForAria(element)) {
    const target = `role=${role}[name=${quoted(name)}]`;
    if (query(target).length === 1) return target;
  }
  return uniqueCss(element);
}

/// A selector that matches the element alone, by ids or by position.
function uniqueCss(element) {
  const steps = [];
  let shadowed = false;
  for (let at = element; at; at = parentOrHost(at)) {
    shadowed ||= at.shadowRoot !== null || at.parentNode?.nodeType === Node.DOCUMENT_FRAGMENT_NODE;
    const id = at.id && /^[A-Za-z]/.test(at.id) && isPrintable(at.id) ? `#${CSS.escape(at.id)}` : null;
    if (id && everyMatch({ scope: document, pierce: true }, id).length === 1) {
      steps.unshift(id);
      break;
    }
    steps.unshift(stepTo(at));
    if (tries++ < MOST_TRIES && found(steps).length === 1) return steps.join(" > ");
  }
  const path = steps.join(" > ");
  // Children of a host and of its shadow root can have the same path.
  const all = shadowed ? found(steps) : [element];
  return all.length === 1 ? path : `:nth-match(${path}, ${all.indexOf(element) + 1})`;
}

function found(steps) {
  return queryCss(document, parseCss(steps.join(" > ")));
}

/// The tag, with the place among siblings of the same tag where there are more.
function stepTo(element) {
  const tag = CSS.escape(element.localName);
  const parent = element.parentNode;
  if (!parent?.children) return tag;
  let known = tagPlaces.get(parent);
  if (!known) {
    known = { places: new Map(), totals: new Map() };
    for (const child of parent.children) {
      const place = (known.totals.get(child.localName) ?? 0) + 1;
      known.totals.set(child.localName, place);
      known.places.set(child, place);
    }
    tagPlaces.set(parent, known);
  }
  return known.totals.get(element.localName) > 1 ? `${tag}:nth-of-type(${known.places.get(element)})` : tag;
}
