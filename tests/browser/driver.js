// Opens pages in chromium and does as it is told: one JSON command a line on stdin, one JSON answer a line on stdout.
//
//   {"do": "open", "file": "/x/page.html", "hash": "step=3", "width": 1280, "height": 860, "dark": false}
//   {"do": "open", "url": "http://127.0.0.1:1/x/"}      {"do": "fill", "on": "#field", "text": "8MiB"}
//   {"do": "select", "on": "#list", "text": "ring"}
//   {"do": "ask", "code": "window.hopcast.state()"}      {"do": "keys", "keys": ["Space", "ArrowRight"]}
//   {"do": "hash", "hash": "step=1"}    {"do": "shot", "to": "/x/page.png"}    {"do": "drag", "by": [300, 80]}
//   {"do": "click", "on": "#play"}      {"do": "tree"}
//
// Every answer has `errors`, what the console and the page complained of, and `requests`, what left the file or the address.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'hopcast-browser-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.HOPCAST_CHROMIUM || '/usr/bin/chromium', headless: true, args: FLAGS,
});
let page = null;
let errors = [];
let requests = [];

const settled = () => page.evaluate(() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));
}));

const act = {
  async open({ file, url: address, hash = '', width = 1280, height = 860, dark = false, still = true }) {
    if (page) await page.close();
    page = await context.newPage();
    [errors, requests] = [[], []];
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) errors.push(m.text()); });
    page.on('pageerror', (e) => errors.push(String(e)));
    const url = address || pathToFileURL(file).href;
    const own = url.split('?')[0];
    page.on('request', (r) => {
      if (!r.url().startsWith(own) && !r.url().startsWith('data:')) requests.push(r.url());
    });
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: still ? 'reduce' : 'no-preference' });
    const began = Date.now();
    await page.goto(url + (hash ? `#${hash}` : ''));
    await page.waitForFunction(() => window.hopcast && window.hopcast.ready, null, { timeout: 30000 });
    return { ms: Date.now() - began };
  },
  async ask({ code }) {
    return { value: await page.evaluate(code) };
  },
  async hash({ hash }) {
    // A busy machine may draw two frames before the page hears of its new hash: wait until it has heard.
    await page.evaluate((h) => new Promise((heard) => {
      const before = location.hash;
      window.addEventListener('hashchange', heard, { once: true });
      location.hash = h;
      if (location.hash === before) heard();
    }), hash);
    await settled();
  },
  async keys({ keys }) {
    for (const key of keys) await page.keyboard.press(key);
    await settled();
  },
  async click({ on }) {
    await page.click(on);
    await settled();
  },
  async fill({ on, text }) {
    await page.fill(on, text);
    await settled();
  },
  async select({ on, text }) {
    await page.selectOption(on, text);
    await settled();
  },
  async drag({ by: [dx, dy], on = '#view0', moves = 20 }) {
    const box = await page.locator(on).boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let i = 1; i <= moves; i++) await page.mouse.move(x + (dx * i) / moves, y + (dy * i) / moves);
    await page.mouse.up();
    await settled();
  },
  async hover({ at: [x, y] }) {
    await page.mouse.move(x, y);
    await settled();
  },
  async shot({ to, whole = false }) {
    await settled();
    await page.screenshot({ path: to, fullPage: whole });
  },
  async tree() {
    return { value: await page.locator('body').ariaSnapshot() };
  },
};

const lines = readline.createInterface({ input: process.stdin });
for await (const line of lines) {
  const command = JSON.parse(line);
  let answer = {};
  try {
    answer = (await act[command.do](command)) || {};
  } catch (e) {
    answer = { failed: String(e) };
  }
  process.stdout.write(`${JSON.stringify({ ...answer, errors, requests })}\n`);
}
await context.close();
fs.rmSync(profile, { recursive: true, force: true });
