import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { load, open, pages, pictures, site } from './site.mjs';

let opened;
before(async () => {
  opened = await open();
  mkdirSync(pictures, { recursive: true });
});
after(() => opened.close());

const html = path => readFileSync(join(site, path), 'utf8');
const own = pages.filter(p => !['404.html', 'print.html', 'toc.html'].includes(p));

test('every link leads to a page of the site, and to a place on it', () => {
  const places = new Map(pages.map(p => [p, new Set([...html(p).matchAll(/\bid="([^"]*)"/g)].map(m => m[1]))]));
  const wrong = [];
  let links = 0;
  for (const page of own) {
    for (const [, target] of html(page).matchAll(/<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]*)"/g)) {
      if (/^(https?:|data:|mailto:)/.test(target)) continue;
      links++;
      const [file, place] = target.replaceAll('&amp;', '&').split('#');
      const path = file === '' ? page : posix.join(dirname(page), decodeURIComponent(file));
      if (!existsSync(join(site, path))) wrong.push(`${page}: ${target} leads nowhere`);
      else if (place && places.has(path) && !places.get(path).has(decodeURIComponent(place))) {
        wrong.push(`${page}: there is no place ${target}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(links > 1000, `${links} links`);
});

test('each page loads without a message, asks for nothing elsewhere and is no wider than a narrow window', async () => {
  const wrong = [];
  for (const path of own) {
    const { page, wrong: said } = await load(opened, path, { width: 390, height: 844, until: 'load' });
    wrong.push(...said);
    const [wide, room] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    if (wide > room) wrong.push(`${path}: ${wide} wide in a window of ${room}`);
    await page.close();
  }
  assert.deepEqual(wrong, []);
});

test('what is looked for is found', async () => {
  for (const [words, expected] of [
    ['transpose', 'language/prelude.html'],
    ['E0301', 'messages/E0301.html'],
    ['ragged', 'language/boxes.html'],
  ]) {
    const { page, wrong } = await load(opened, 'index.html');
    await page.keyboard.press('s');
    await page.waitForSelector('#mdbook-searchbar, #searchbar', { visible: true });
    await page.keyboard.type(words);
    await page.waitForFunction(() => document.querySelectorAll('#mdbook-searchresults a, #searchresults a').length > 0);
    const found = await page.evaluate(() =>
      [...document.querySelectorAll('#mdbook-searchresults a, #searchresults a')].map(a => a.getAttribute('href')),
    );
    assert.ok(found.some(f => f.includes(expected)), `${words}: ${found.join(' ')}`);
    assert.deepEqual(wrong, []);
    await page.close();
  }
});

/** How much lighter one colour is than another: WCAG's ratio, from 1 to 21. */
function contrast(a, b) {
  const light = colour => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map(v => v / 255);
    const [r, g, b] = parts.map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}

test('each colour of programs can be read on each kind of page', async () => {
  const seen = new Set();
  for (const theme of ['light', 'rust', 'coal', 'navy', 'ayu']) {
    const { page } = await load(opened, 'language/forms.html', { theme });
    const colours = await page.evaluate(() =>
      [...document.querySelectorAll('code.remora span')].map(span => [
        span.className,
        getComputedStyle(span).color,
        getComputedStyle(span.closest('code')).backgroundColor,
      ]),
    );
    await page.close();
    for (const [name, colour, background] of colours) {
      seen.add(name);
      const ratio = contrast(colour, background);
      assert.ok(ratio >= 4.5, `${theme}: ${name} ${colour} on ${background} is ${ratio.toFixed(2)}`);
    }
  }
  assert.ok(seen.size >= 11, [...seen].join());
});

// For a person to look at: $REMC_PICTURES, else the folder book-pictures beside the site.
test('pictures of pages are made', async () => {
  for (const path of ['index.html', 'prompt.html', 'language/tutorial.html', 'language/forms.html', 'language/errors.html', 'messages/E0301.html', 'performance.html']) {
    for (const scheme of ['light', 'dark']) {
      for (const width of [390, 1280]) {
        const { page } = await load(opened, path, { width, scheme });
        const themes = await page.evaluate(() => [...document.documentElement.classList]);
        assert.ok(themes.includes({ light: 'light', dark: 'navy' }[scheme]), `${scheme}: ${themes}`);
        const name = `${path.replaceAll('/', '-').replace('.html', '')}-${scheme}-${width}.png`;
        await page.screenshot({ path: join(pictures, name) });
        await page.close();
      }
    }
  }
});
