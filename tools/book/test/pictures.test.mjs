// The pictures that the book shows, made anew: they go to $REMC_PICTURES, else to the folder book-pictures beside the
// site; with UPDATE_EXPECT=1 also to book/src/pictures, for a person to look at and commit. They are not compared with
// what is there: another version of a font or of Chromium draws other pixels.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { open, pictures } from './site.mjs';
import { terminal } from './terminal.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const kept = join(root, 'book/src/pictures');
const remc = process.env.REMC ?? join(root, 'target/release/remc');

function keep(file) {
  if (process.env.UPDATE_EXPECT) copyFileSync(join(pictures, file), join(kept, file));
  assert.ok(existsSync(join(kept, file)), `book/src/pictures/${file} is not there: UPDATE_EXPECT=1 makes it`);
}

let opened;
before(async () => {
  opened = await open();
  mkdirSync(pictures, { recursive: true });
});
after(() => opened.close());

/** A picture of a page, as large as what is on it, in two colour schemes. */
async function picture(name, html, width) {
  for (const scheme of ['light', 'dark']) {
    const page = await opened.browser.newPage();
    await page.setViewport({ width, height: 100, deviceScaleFactor: 1.5 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setContent(html, { waitUntil: 'load' });
    const [wide, tall] = await page.evaluate(() => [document.body.scrollWidth, document.body.scrollHeight]);
    assert.ok(wide <= width, `${name} is ${wide} wide, of ${width}`);
    assert.ok(tall > 100, `${name} is ${tall} tall`);
    const file = `${name}-${scheme}.png`;
    await page.screenshot({ path: join(pictures, file), fullPage: true });
    await page.close();
    keep(file);
  }
}

test('a program as an editor shows it', async () => {
  const command = ['run', '--quiet', '--locked', '--package', 'remc-book', '--', 'colour', 'examples/k-means.remora'];
  const html = execFileSync('cargo', command, { cwd: root, encoding: 'utf8' });
  assert.match(html, /<span class="r-function">nearest<\/span>/);
  await picture('editor', html, 1180);
});

/** A picture of a terminal in which `remc`, which REMC names, is run. */
async function session(name, options) {
  for (const scheme of ['light', 'dark']) {
    const file = `${name}-${scheme}.png`;
    const shown = await terminal(opened, {
      columns: 104,
      rows: 40,
      ...options,
      scheme,
      env: { PATH: `${dirname(remc)}:${process.env.PATH}` },
      path: join(pictures, file),
    });
    for (const part of options.shows) assert.match(shown, part);
    keep(file);
  }
}

test('the prompt in a terminal', async () => {
  await session('prompt', {
    command: 'remc repl --history off',
    rows: 44,
    keys: [
      '(define table [[120 80 45] [110 95 50]])\r',
      '(sum table)\r',
      ':type (outer * [1 2] [0.5 1.5 2.5])\r',
      ':plot (sin (/ (iota [64]) 5.0))\r',
      '(rot',
      '\t',
    ],
    shows: [/\[230 175 95\]/, /\[float 2 3\]/, /⠤⠤/, /rotate/],
  });
});

/** The file of that name as a page has it first. */
function fileOf(page, name) {
  const text = readFileSync(join(root, 'book/src', page), 'utf8');
  const block = text.split(`\`\`\`remora ${name}\n`)[1];
  assert.ok(block, `${page} has no ${name}`);
  return block.split('```')[0];
}

test('a message in a terminal', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'remc-message-'));
  writeFileSync(join(cwd, 'prices.remora'), fileOf('start.md', 'prices.remora'));
  await session('message', {
    cwd,
    command: "printf '$ remc run prices.remora\\n'; remc run prices.remora",
    shows: [/E0301/, /a rerank pairs the cells that fit: \(~\(1 1\)\+ prices \[10 5 5\]\)/],
  });
  rmSync(cwd, { recursive: true });
});
