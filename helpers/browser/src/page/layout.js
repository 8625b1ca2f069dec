//! Distances between boxes, for `:left-of`, `:right-of`, `:above`, `:below` and `:near`.

const NEAR_PIXELS = 50;

/// How far `element` is from the nearest of `others` in the direction of `name`,
/// in pixels; undefined when none of them lies so.
function nearestOf(name, element, others, most) {
  const box = element.getBoundingClientRect();
  let best;
  for (const other of others) {
    if (other === element) continue;
    const distance = distanceBetween(name, box, other.getBoundingClientRect(), most);
    if (distance !== undefined && (best === undefined || distance < best)) best = distance;
  }
  return best;
}

// The gap in the direction asked for, and how far the box stands out of the
// other's extent on the cross axis.
function distanceBetween(name, box, other, most) {
  if (name === "near") {
    const gaps = [box.left - other.right, other.left - box.right, other.top - box.bottom, box.top - other.bottom];
    const total = gaps.reduce((sum, gap) => sum + Math.max(0, gap), 0);
    return total > (most ?? NEAR_PIXELS) ? undefined : total;
  }
  const gap = {
    "left-of": other.left - box.right, "right-of": box.left - other.right,
    above: other.top - box.bottom, below: box.top - other.bottom,
  }[name];
  if (gap < 0 || (most !== undefined && gap > most)) return undefined;
  const across = name === "left-of" || name === "right-of"
    ? [other.bottom - box.bottom, box.top - other.top]
    : [box.left - other.left, other.right - box.right];
  return gap + Math.max(0, across[0]) + Math.max(0, across[1]);
}
