//! Roles and states as WAI-ARIA and HTML-AAM give them, the same for tree and selectors.

const VALID_ROLES = new Set(
  ("alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox " +
    "complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid " +
    "gridcell group heading img insertion link list listbox listitem log main mark marquee math meter menu menubar " +
    "menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation progressbar radio " +
    "radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong " +
    "subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem").split(" "),
);
const GLOBAL_ARIA = (
  "aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect aria-flowto " +
  "aria-grabbed aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live aria-owns aria-relevant aria-roledescription"
).split(" ");
const NAMING_PROHIBITED = new Set(
  "caption code definition deletion emphasis generic insertion mark paragraph presentation strong subscript suggestion superscript term time".split(" "),
);
const ROLES_WITH = {
  checked: "checkbox menuitemcheckbox option radio switch menuitemradio treeitem".split(" "),
  pressed: ["button"],
  selected: "gridcell option row tab rowheader columnheader treeitem".split(" "),
  expanded: (
    "application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem columnheader " +
    "menuitemcheckbox menuitemradio switch"
  ).split(" "),
  level: "heading listitem row treeitem".split(" "),
  disabled: (
    "application button composite gridcell group input link menuitem scrollbar separator tab checkbox columnheader combobox grid " +
    "listbox menu menubar menuitemcheckbox menuitemradio option radio radiogroup row rowheader searchbox select slider spinbutton switch " +
    "tablist textbox toolbar tree treegrid treeitem"
  ).split(" "),
};
const IMPLICIT = {
  ARTICLE: "article", ASIDE: "complementary", BLOCKQUOTE: "blockquote", BUTTON: "button", CAPTION: "caption",
  CODE: "code", DATALIST: "listbox", DD: "definition", DEL: "deletion", DETAILS: "group", DFN: "term",
  DIALOG: "dialog", DT: "term", EM: "emphasis", FIELDSET: "group", FIGURE: "figure", H1: "heading", H2: "heading",
  H3: "heading", H4: "heading", H5: "heading", H6: "heading", HR: "separator", HTML: "document", INS: "insertion",
  LI: "listitem", MAIN: "main", MARK: "mark", MATH: "math", MENU: "list", METER: "meter", NAV: "navigation",
  OL: "list", OPTGROUP: "group", OPTION: "option", OUTPUT: "status", P: "paragraph", PROGRESS: "progressbar",
  SEARCH: "search", STRONG: "strong", SUB: "subscript", SUP: "superscript", SVG: "img", TABLE: "table",
  TBODY: "rowgroup", TEXTAREA: "textbox", TFOOT: "rowgroup", THEAD: "rowgroup", TIME: "time", TR: "row", UL: "list",
};
const INPUT_ROLES = {
  button: "button", checkbox: "checkbox", image: "button", number: "spinbutton", radio: "radio", range: "slider",
  reset: "button", submit: "button", file: "button",
};
// A presentational list or table takes the meaning of its parts away too.
const PART_OF = {
  DD: ["DL", "DIV"], DIV: ["DL"], DT: ["DL", "DIV"], LI: ["OL", "UL"], TBODY: ["TABLE"], TD: ["TR"], TFOOT: ["TABLE"],
  TH: ["TR"], THEAD: ["TABLE"], TR: ["THEAD", "TBODY", "TFOOT", "TABLE"],
};
const SECTIONING = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]";

function tagOf(element) {
  return element.tagName.toUpperCase();
}

function nativelyDisabled(element) {
  if (!/^(BUTTON|INPUT|SELECT|TEXTAREA|OPTION|OPTGROUP)$/.test(element.tagName)) return false;
  if (element.hasAttribute("disabled")) return true;
  if (element.tagName === "OPTION" && element.closest("optgroup[disabled]")) return true;
  const fieldset = element.closest("fieldset[disabled]");
  if (!fieldset) return false;
  const legend = fieldset.querySelector(":scope > legend");
  return !legend || !legend.contains(element);
}

function isFocusable(element) {
  if (nativelyDisabled(element)) return false;
  const tag = element.tagName;
  if (["BUTTON", "DETAILS", "SELECT", "TEXTAREA"].includes(tag)) return true;
  if ((tag === "A" || tag === "AREA") && element.hasAttribute("href")) return true;
  if (tag === "INPUT" && !element.hidden) return true;
  const tabindex = element.getAttribute("tabindex");
  return tabindex !== null && !Number.isNaN(Number(tabindex));
}

function hasGlobalAria(element, role) {
  return GLOBAL_ARIA.some((name) => {
    if ((name === "aria-label" || name === "aria-labelledby") && NAMING_PROHIBITED.has(role)) return false;
    return element.hasAttribute(name);
  });
}

function hasExplicitName(element) {
  return element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
}

function inputRole(element) {
  const type = element.type.toLowerCase();
  if (type === "hidden") return null;
  const list = element.getAttribute("list");
  const listed = list && element.getRootNode().getElementById?.(list)?.tagName === "DATALIST";
  if (type === "search") return listed ? "combobox" : "searchbox";
  if (["email", "tel", "text", "url", ""].includes(type)) return listed ? "combobox" : "textbox";
  return INPUT_ROLES[type] ?? "textbox";
}

function headerCellRole(element) {
  const scope = element.getAttribute("scope");
  if (scope === "col" || scope === "colgroup") return "columnheader";
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  const before = element.previousElementSibling;
  const after = element.nextElementSibling;
  if (!before && !after) {
    const table = element.closest("table");
    return table && table.rows.length <= 1 ? null : "columnheader";
  }
  if (before?.tagName === "TH" && after?.tagName === "TH") return "columnheader";
  const data = (cell) => cell?.tagName === "TD" && (cell.textContent.trim() !== "" || cell.children.length > 0);
  return data(before) || data(after) ? "rowheader" : "columnheader";
}

function tagRole(element) {
  const tag = tagOf(element);
  switch (tag) {
    case "A": case "AREA": return element.hasAttribute("href") ? "link" : null;
    case "FOOTER": return closestAcross(element, SECTIONING) ? null : "contentinfo";
    case "HEADER": return closestAcross(element, SECTIONING) ? null : "banner";
    case "FORM": return hasExplicitName(element) ? "form" : null;
    case "SECTION": return hasExplicitName(element) ? "region" : null;
    case "IMG":
      return element.getAttribute("alt") === "" && !element.getAttribute("title") && !hasGlobalAria(element) &&
        !element.hasAttribute("tabindex") ? "presentation" : "img";
    case "INPUT": return inputRole(element);
    case "SELECT": return element.hasAttribute("multiple") || element.size > 1 ? "listbox" : "combobox";
    case "TD": return ["grid", "treegrid"].includes(explicitRole(element.closest("table") ?? element)) ? "gridcell" : "cell";
    case "TH": return headerCellRole(element);
    default: return IMPLICIT[tag] ?? null;
  }
}

function implicitRole(element) {
  const role = tagRole(element);
  if (!role) return null;
  for (let at = element; ; ) {
    const parent = parentOrHost(at);
    if (!parent || !PART_OF[tagOf(at)]?.includes(tagOf(parent))) return role;
    const above = explicitRole(parent);
    if ((above === "none" || above === "presentation") && !keepsItsMeaning(parent, above)) return above;
    at = parent;
  }
}

function explicitRole(element) {
  const written = element.getAttribute("role");
  if (!written) return null;
  const tokens = written.toLowerCase().split(" ").map((token) => token.trim());
  return tokens.find((token) => VALID_ROLES.has(token)) ?? null;
}

function keepsItsMeaning(element, role) {
  return hasGlobalAria(element, role) || isFocusable(element);
}

/// The element's role, or null for one without.
function roleOf(element) {
  const known = factsOf(element);
  if (known.role === undefined) known.role = computedRole(element);
  return known.role;
}

function computedRole(element) {
  const explicit = explicitRole(element);
  if (!explicit) return implicitRole(element);
  if (explicit === "none" || explicit === "presentation") {
    const implicit = implicitRole(element);
    if (keepsItsMeaning(element, implicit)) return implicit;
  }
  return explicit;
}

function lowered(element, attribute) {
  return element.getAttribute(attribute)?.toLowerCase() ?? null;
}

/// true, false or "mixed"; false where the role knows no such state.
function checkedOf(element) {
  if (element.tagName === "INPUT" && element.type === "checkbox" && element.indeterminate) return "mixed";
  if (element.tagName === "INPUT" && ["checkbox", "radio"].includes(element.type)) return element.checked;
  if (!ROLES_WITH.checked.includes(roleOf(element) ?? "")) return false;
  const checked = lowered(element, "aria-checked");
  return checked === "true" ? true : checked === "mixed" ? "mixed" : false;
}

function pressedOf(element) {
  if (roleOf(element) !== "button") return false;
  const pressed = lowered(element, "aria-pressed");
  return pressed === "true" ? true : pressed === "mixed" ? "mixed" : false;
}

function selectedOf(element) {
  if (element.tagName === "OPTION") return element.selected;
  if (!ROLES_WITH.selected.includes(roleOf(element) ?? "")) return false;
  return lowered(element, "aria-selected") === "true";
}

/// true, false, or undefined where nothing says either.
function expandedOf(element) {
  if (!ROLES_WITH.expanded.includes(roleOf(element) ?? "")) return undefined;
  const expanded = lowered(element, "aria-expanded");
  return expanded === null ? undefined : expanded === "true";
}

function levelOf(element) {
  const heading = /^H([1-6])$/.exec(element.tagName);
  if (heading) return Number(heading[1]);
  if (!ROLES_WITH.level.includes(roleOf(element) ?? "")) return 0;
  const level = Number(element.getAttribute("aria-level") ?? "");
  return Number.isInteger(level) && level >= 1 ? level : 0;
}

function disabledOf(element) {
  return nativelyDisabled(element) || (ROLES_WITH.disabled.includes(roleOf(element) ?? "") && ariaDisabled(element));
}

/// What the nearest `aria-disabled` of the element and around it says.
function ariaDisabled(element) {
  const known = factsOf(element);
  if (known.disabled === undefined) {
    const disabled = lowered(element, "aria-disabled");
    const parent = parentOrHost(element);
    known.disabled = disabled === "true" || (disabled !== "false" && parent !== null && ariaDisabled(parent));
  }
  return known.disabled;
}
