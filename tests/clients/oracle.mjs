// What playwright-core makes of selectors, asked line by line: a test compares
// it with the product's own engine on the same page of the same Chrome.
//
//   node oracle.mjs PORT
//
// A line {"url", "selectors": […], "strict": n} on stdin asks about the open tab
// with this address; the answer is one line, a list in the order of the selectors
// with {"found": [[frame, place], …], "strict": count or null} or {"refused": why}.
// Only the first n are also asked for one element, to see how strict they are.
// A place counts the elements of a frame's document, shadow roots included.
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const browser = await chromium.connectOverCDP(`http://127.0.0.1:${process.argv[2]}`);

async function tab(url) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const page = browser.contexts().flatMap((context) => context.pages()).find((one) => one.url() === url);
    if (page) return page;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`no tab shows ${url}`);
}

function places(elements) {
  const numbers = new Map();
  const walk = (root) => {
    for (const element of root.children) {
      numbers.set(element, numbers.size);
      if (element.shadowRoot) walk(element.shadowRoot);
      walk(element);
    }
  };
  walk(document);
  // `nth=0` alone means the document itself, which nothing can be done to.
  return elements.filter((node) => node !== document).map((element) => numbers.get(element) ?? -1);
}

// The main frame, then the frames one can see, each followed by its own.
async function shownFrames(frame) {
  const inner = [];
  for (const child of frame.childFrames()) {
    const element = await child.frameElement();
    if (!(await element.isVisible())) continue;
    const place = await element.evaluate((own) => {
      let count = 0;
      let found = 0;
      const walk = (root) => {
        for (const one of root.children) {
          if (one === own) found = count;
          count++;
          if (one.shadowRoot) walk(one.shadowRoot);
          walk(one);
        }
      };
      walk(document);
      return found;
    });
    inner.push({ child, place });
  }
  inner.sort((a, b) => a.place - b.place);
  const all = [frame];
  for (const { child } of inner) all.push(...(await shownFrames(child)));
  return all;
}

async function strictCount(frame, selector) {
  try {
    await frame.locator(selector).evaluate(() => 0, null, { timeout: 1000 });
    return null;
  } catch (error) {
    return Number(/strict mode violation: .* resolved to (\d+) elements/s.exec(error.message)?.[1] ?? -1);
  }
}

async function answer(frames, selector, strictly) {
  const found = [];
  let strict = null;
  for (const [index, frame] of frames.entries()) {
    try {
      const here = await frame.locator(selector).evaluateAll(places);
      found.push(...here.map((place) => [index, place]));
      if (strictly && frames.length === 1 && here.length > 1) strict = await strictCount(frame, selector);
    } catch (error) {
      return { refused: error.message };
    }
  }
  return { found, strict };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, selectors, strict } = JSON.parse(line);
  const frames = await shownFrames((await tab(url)).mainFrame());
  // All at once: most of the time is the way to Chrome and back.
  const answers = await Promise.all(selectors.map((selector, at) => answer(frames, selector, at < strict)));
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
await browser.close();
