//! What was found, in numbers and names that tests compare.

/// For each element its place among all elements of the document, those of
/// shadow roots included, and its id or tag.
function matched() {
  const numbers = new Map();
  const walk = (root) => {
    for (const element of root.children) {
      numbers.set(element, numbers.size);
      if (element.shadowRoot) walk(element.shadowRoot);
      walk(element);
    }
  };
  walk(document);
  return current.map((element) => ({ place: numbers.get(element), name: element.id || element.localName }));
}

/// Role and name of every element that has a role, hidden ones too, and the name
/// that hidden content counts for.
function everyRole() {
  forget();
  return everyElement(document)
    .filter((element) => roleOf(element))
    .map((element) => ({ role: roleOf(element), name: isHiddenForAria(element) ? null : nameOf(element), whole: nameOf(element, true) }));
}
