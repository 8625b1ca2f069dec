//! Scrolling: the panels of this document, moving one, and how far it can still go.

const LEAST_PANEL = 2000;

const rootScroller = () => document.scrollingElement ?? document.documentElement;

/// The body's overflow is the window's unless the root element has one of its own.
function isWindow(element) {
  if (element === rootScroller() || element === document.documentElement) return true;
  return element === document.body && styleOf(document.documentElement).overflowY === "visible";
}

function extent(element, sideways) {
  return sideways ? element.scrollWidth - element.clientWidth : element.scrollHeight - element.clientHeight;
}

function scrolls(element, sideways) {
  if (extent(element, sideways) < 2) return false;
  const style = styleOf(element);
  return ["auto", "scroll", "overlay"].includes(sideways ? style.overflowX : style.overflowY);
}

/// The part of an element's box that its clipping ancestors and the viewport leave to be seen.
function seenArea(element) {
  const box = element.getBoundingClientRect();
  let [left, top, right, bottom] = [Math.max(0, box.left), Math.max(0, box.top), Math.min(innerWidth, box.right), Math.min(innerHeight, box.bottom)];
  for (let at = parentOrHost(element); at && !isWindow(at); at = parentOrHost(at)) {
    if (styleOf(at).overflowX === "visible" && styleOf(at).overflowY === "visible") continue;
    const outer = at.getBoundingClientRect();
    [left, top, right, bottom] = [Math.max(left, outer.left), Math.max(top, outer.top), Math.min(right, outer.right), Math.min(bottom, outer.bottom)];
  }
  return Math.max(0, right - left) * Math.max(0, bottom - top);
}

function isUncovered(element) {
  const box = element.getBoundingClientRect();
  const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2;
  const y = (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2;
  const hit = deepestAt(x, y);
  return hit !== null && composedContains(element, hit);
}

/// A page that hides its overflow holds its window still.
function windowHeld(sideways) {
  const axis = sideways ? "overflowX" : "overflowY";
  const root = styleOf(document.documentElement)[axis];
  const body = document.body && root === "visible" ? styleOf(document.body)[axis] : root;
  return body === "hidden" || body === "clip";
}

/// How much of a frame can be seen in this document.
function frameArea(index) {
  const frame = frames[index];
  return frame?.isConnected && isUncovered(frame) ? seenArea(frame) : 0;
}

let panel = null;

/// The panel of this document that a reader would scroll: of those that can be
/// seen and scroll this way the one that shows most. Also how far the window goes.
function scrollers(sideways) {
  forget();
  panel = null;
  let best = 0;
  for (const element of everyElement(document)) {
    if (element.scrollHeight === 0 || extent(element, sideways) < 2 || element.matches("textarea, select, input")) continue;
    if (isWindow(element) || !scrolls(element, sideways) || !isVisible(element)) continue;
    const area = seenArea(element);
    if (area < LEAST_PANEL || area < best || !isUncovered(element)) continue;
    // Of a panel that fills another the inner one moves what is read.
    if (area > best || composedContains(panel, element)) {
      best = area;
      panel = element;
    }
  }
  const windowScrolls = extent(rootScroller(), sideways) > 1 && !windowHeld(sideways);
  return { area: best, view: windowScrolls ? innerWidth * innerHeight : 0 };
}

/// The panel around the one element of the set, or the window; false when it left.
function scrollFrom(sideways) {
  const element = current[0];
  forget();
  panel = null;
  if (!element?.isConnected) return false;
  let at = element;
  while (at && (isWindow(at) || !scrolls(at, sideways))) at = parentOrHost(at);
  panel = at;
  return true;
}

const MOVES = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

function standing(scroller) {
  return { x: scroller.scrollLeft, y: scroller.scrollTop };
}

/// Moves the chosen panel, or the window, by what it shows; answers what that did.
async function scrolled(direction, again) {
  const scroller = panel ?? rootScroller();
  const [x, y] = MOVES[direction];
  const before = standing(scroller);
  const width = panel ? panel.clientWidth : innerWidth;
  const height = panel ? panel.clientHeight : innerHeight;
  const held = !panel && windowHeld(x !== 0);
  if (!again && !held) scroller.scrollBy({ left: x * width, top: y * height, behavior: "instant" });
  await nextFrame();
  await nextFrame();
  const now = standing(scroller);
  forget();
  const style = styleOf(scroller);
  const wide = scroller.scrollWidth - scroller.clientWidth;
  const high = scroller.scrollHeight - scroller.clientHeight;
  // In a page that runs from right to left the way goes from 0 to less.
  const start = style.direction === "rtl" ? -wide : 0;
  return {
    held,
    container: panel ? `the panel ${describe(panel)}` : window === window.top ? "the window" : "the window of a frame",
    target: panel ? uniqueCss(panel) : null,
    moved: Math.round(Math.abs(now.x - before.x) + Math.abs(now.y - before.y)),
    left: Math.max(0, Math.round(now.x - start)),
    right: Math.max(0, Math.round(start + wide - now.x)),
    up: Math.max(0, Math.round(now.y)),
    down: Math.max(0, Math.round(high - now.y)),
  };
}
