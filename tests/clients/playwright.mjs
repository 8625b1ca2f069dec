// One browser call by playwright-core from a fresh process: connect to a running
// Chrome, do one thing on its first page, leave Chrome as it is.
//
//   node playwright.mjs PORT navigate URL | snapshot | click SELECTOR | eval EXPRESSION | screenshot FILE
import { chromium } from 'playwright-core';

const [port, verb, argument] = process.argv.slice(2);
const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
const page = browser.contexts()[0].pages()[0];
switch (verb) {
  case 'navigate':
    await page.goto(argument);
    break;
  case 'snapshot':
    process.stdout.write(`${page.url()}\n${await page.title()}\n${await page.locator('body').ariaSnapshot()}\n`);
    break;
  case 'click':
    await page.click(argument);
    break;
  case 'eval':
    process.stdout.write(`${JSON.stringify(await page.evaluate(argument))}\n`);
    break;
  case 'screenshot':
    await page.screenshot({ path: argument, type: 'jpeg' });
    break;
  default:
    process.stderr.write(`unknown verb ${verb}; allowed are navigate, snapshot, click, eval, screenshot\n`);
    process.exit(64);
}
await browser.close();
