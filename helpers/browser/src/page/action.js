//! Clicking: what must hold before the mouse goes down, where it goes, and what changed afterwards.

const FRAME_WAIT_MS = 250;
const ALIGNMENTS = ["end", "center", "start"];

function nextFrame() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FRAME_WAIT_MS);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function sameBox(a, b) {
  return a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
}

function deepestAt(x, y) {
  let found = document.elementFromPoint(x, y);
  while (found?.shadowRoot) {
    const inner = found.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === found) break;
    found = inner;
  }
  return found;
}

function isToggle(element) {
  return element.tagName === "INPUT" && ["checkbox", "radio"].includes(element.type);
}

/// What the mouse goes for: the element, or the label of a hidden checkbox or radio.
function clickBox(element) {
  if (!isToggle(element)) return element;
  const label = [...(element.labels ?? [])].find((other) => isVisible(other));
  const unseen = !isVisible(element) || Number(styleOf(element).opacity) === 0;
  return unseen && label ? label : element;
}

function controlOf(element) {
  const lifted = closestAcross(element, "button, [role=button], [role=checkbox], [role=radio]");
  return lifted ?? closestAcross(element, "label")?.control ?? element;
}

function clippedCentre(box) {
  for (const rect of box.getClientRects()) {
    const left = Math.max(0, rect.left);
    const top = Math.max(0, rect.top);
    const right = Math.min(innerWidth, rect.right);
    const bottom = Math.min(innerHeight, rect.bottom);
    if (right > left && bottom > top && (right - left) * (bottom - top) > 0.99) return { x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return null;
}

function blockedBy(element, box, x, y) {
  const hit = deepestAt(x, y);
  if (!hit) return "the point to click lies outside of the page";
  const lifted = closestAcross(box, "button, [role=button], a, [role=link]") ?? box;
  if (composedContains(lifted, hit)) return null;
  for (let at = hit; at; at = parentOrHost(at)) if (at.tagName === "LABEL" && at.control === element) return null;
  let root = hit;
  for (let at = hit; at && !composedContains(at, box); at = parentOrHost(at)) root = at;
  const from = root === hit ? "" : ` from ${preview(root)} subtree`;
  return `${preview(hit)}${from} intercepts pointer events`;
}

function describe(element) {
  const role = roleOf(element);
  const name = tidy(nameOf(element));
  if (role && name) return `${role} ${JSON.stringify(cut(name, 120))}`;
  return preview(element);
}

let acted = null;

const MOUSE_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick"];

/// Keeps the mouse's events from anything but the element: a page that moves
/// between the look and the click must not have something else clicked.
function guardClick(element, box, role) {
  const guard = (event) => {
    if (!event.isTrusted) return;
    const path = event.composedPath();
    const lifted = closestAcross(box, "button, [role=button], a, [role=link]") ?? box;
    const label = path.some((at) => at.tagName === "LABEL" && at.control === element);
    const landed = label || path.includes(element) || path.includes(lifted);
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

/// Makes the one element of the set ready; answers a point in this frame's
/// viewport, or what stood in the way.
async function prepare(attempt) {
  const element = current[0];
  forget();
  if (!element?.isConnected) return { blocked: "the element left the page", gone: true };
  const box = clickBox(element);
  if (!isVisible(box)) return { blocked: "the element is not visible" };
  if (disabledOf(controlOf(element))) return { blocked: "the element is disabled" };
  await nextFrame();
  const before = box.getBoundingClientRect();
  await nextFrame();
  if (!box.isConnected) return { blocked: "the element left the page", gone: true };
  if (!sameBox(before, box.getBoundingClientRect())) return { blocked: "the element is moving" };
  forget();
  if (attempt === 0) box.scrollIntoViewIfNeeded(true);
  else {
    const align = ALIGNMENTS[attempt % ALIGNMENTS.length];
    box.scrollIntoView({ block: align, inline: align, behavior: "instant" });
  }
  const point = clippedCentre(box);
  if (!point) return { blocked: "the element is outside of the viewport and can't be scrolled into it" };
  const blocked = blockedBy(element, box, point.x, point.y);
  if (blocked) return { blocked };
  const role = roleOf(element) ?? "";
  guardClick(element, box, role);
  return { x: point.x, y: point.y, label: describe(element), toggles: isToggle(element) || ROLES_WITH.checked.includes(role) };
}

/// Carries a point of a child frame into this document; answers what lies over the frame.
function throughFrame(index, x, y) {
  const frame = frames[index];
  if (!frame?.isConnected) return { blocked: "the frame left the page", gone: true };
  const style = getComputedStyle(frame);
  let rect = frame.getBoundingClientRect();
  const place = () => {
    const scaleX = frame.offsetWidth ? rect.width / frame.offsetWidth : 1;
    const scaleY = frame.offsetHeight ? rect.height / frame.offsetHeight : 1;
    return {
      x: rect.left + (frame.clientLeft + parseFloat(style.paddingLeft) + x) * scaleX,
      y: rect.top + (frame.clientTop + parseFloat(style.paddingTop) + y) * scaleY,
    };
  };
  let point = place();
  if (point.x < 0 || point.y < 0 || point.x >= innerWidth || point.y >= innerHeight) {
    frame.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    rect = frame.getBoundingClientRect();
    point = place();
  }
  const hit = deepestAt(point.x, point.y);
  if (hit !== frame) return { blocked: hit ? `${preview(hit)} intercepts pointer events` : "the frame is outside of the viewport" };
  return point;
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

function guarded(work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}

globalThis.guildsPage = {
  begin: (selector) => guarded(() => begin(selector)),
  pick: (index) => guarded(() => pick(index)),
  query: (selector) => guarded(() => ({ found: query(selector).map((element) => element.id || element.localName) })),
  previews, place, collectFrames, frameElement, snapshot, countTargets, prepare, throughFrame, outcome,
};
