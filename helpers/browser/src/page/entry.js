//! What the helper may call.

function guarded(work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}

async function guardedLater(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}

/// Two frames, in which a page acts on what was done to it.
async function rest() {
  await nextFrame();
  await nextFrame();
}

/// The status the document was answered with; 0 when nobody answered.
function httpStatus() {
  return performance.getEntriesByType("navigation")[0]?.responseStatus ?? 0;
}

globalThis[worldName] = {
  begin: (selector) => guarded(() => begin(selector)),
  pick: (index) => guarded(() => pick(index)),
  refuseReference: (selector) => guarded(() => refuseReference(selector)), nearMisses,
  previews, place, collectFrames, frameElement, snapshot, countTargets, throughFrame,
  prepareClick: (attempt) => guardedLater(() => prepareClick(attempt)), outcome,
  prepareField: (wish, attempt, value) => guardedLater(() => prepareField(wish, attempt, value)),
  takeFocus, fill: (value) => guarded(() => fill(value)), readBack,
  frameArea, scrollers, scrollFrom, scrolled,
  matched, everyRole,
  rest, httpStatus,
};
return collectFrames();
