//! Actionability: what must hold of an element before something is done to it, and what stands in the way.

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
  if (!hit) return "its middle lies outside of the page";
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

/// Waits two frames with the element at rest and scrolls to it; answers its
/// middle in this frame's viewport, or what stood in the way.
async function reach(element, box, attempt, coverMatters) {
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
  const blocked = coverMatters ? blockedBy(element, box, point.x, point.y) : null;
  return blocked ? { blocked } : point;
}
