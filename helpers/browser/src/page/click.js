//! Clicking: where the mouse goes, that nothing else is hit, and what changed afterwards.

let acted = null;

/// Roles that a click is expected to switch.
const SWITCHES = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"]);
const MOUSE_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick"];

/// Keeps the mouse's events from anything but the element: a page that moves
/// between the look and the click must not have something else clicked.
function guardClick(element, box, role) {
  // A click on a label is one on its field as well, wherever that is.
  const field = closestAcross(box, "label")?.control ?? null;
  const guard = (event) => {
    if (!event.isTrusted) return;
    const path = event.composedPath();
    const lifted = closestAcross(box, "button, [role=button], a, [role=link]") ?? box;
    const label = path.some((at) => at.tagName === "LABEL" && at.control === element);
    const landed = label || path.includes(element) || path.includes(lifted) || path.includes(field);
    acted.landed = acted.landed === false ? false : landed;
    if (!landed) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  acted?.release();
  const release = () => MOUSE_EVENTS.forEach((name) => removeEventListener(name, guard, true));
  MOUSE_EVENTS.forEach((name) => addEventListener(name, guard, true));
  acted = { element, role, states: statesOf(element, role).join(" "), landed: null, release };
}

/// Makes the one element of the set ready for the mouse.
async function prepareClick(attempt) {
  const element = current[0];
  forget();
  if (!element?.isConnected) return { blocked: "the element left the page", gone: true };
  const list = element.tagName === "OPTION" ? element.closest("select") : null;
  // The list of a closed select is the browser's own and not part of the page.
  if (list && list.size < 2 && !list.multiple) refuse(`${preview(element)} is an option of ${preview(list)}; choose it with browser_fill on that`);
  const box = clickBox(element);
  if (!isVisible(box)) return { blocked: "the element is not visible" };
  if (disabledOf(controlOf(element))) return { blocked: "the element is disabled" };
  const point = await reach(element, box, attempt, true);
  if (point.blocked) return point;
  const role = roleOf(element) ?? "";
  guardClick(element, box, role);
  return { x: point.x, y: point.y, label: describe(element), toggles: SWITCHES.has(role) };
}

/// Two frames after the click: did it land, and which states changed.
async function outcome() {
  await nextFrame();
  await nextFrame();
  if (!acted) return {};
  forget();
  acted.release();
  const { element, role, states, landed } = acted;
  const now = element.isConnected ? statesOf(element, role).join(" ") : null;
  return { landed, before: states, after: now };
}
