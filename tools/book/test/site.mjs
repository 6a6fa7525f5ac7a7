// The site, as a browser gets it: its files over HTTP, from this machine alone.

import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import puppeteer from 'puppeteer-core';

/** Where the site is. */
export const site = process.env.REMC_BOOK ?? new URL('../../../target/book', import.meta.url).pathname;

/** Where pictures go, for a person to look at. */
export const pictures = process.env.REMC_PICTURES ?? join(site, '../book-pictures');

/** The pages, by their paths within the site. */
export const pages = readdirSync(site, { recursive: true }).filter(f => f.endsWith('.html')).sort();

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** A server of the site, and a browser for it; `close` ends both. */
export async function open() {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://site').pathname);
    try {
      const file = join(site, path === '/' ? 'index.html' : path);
      const body = readFileSync(file);
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const browser = await puppeteer.launch({
    executablePath: process.env.REMC_CHROMIUM ?? '/usr/bin/chromium',
    // As root, which containers are run as, Chromium has no sandbox.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const base = `http://127.0.0.1:${server.address().port}/`;
  return {
    base,
    browser,
    close: async () => {
      await browser.close();
      server.close();
    },
  };
}

/** A page that is open, with the theme of that name if one is given, and what went wrong while it was loaded: messages, and requests that failed or left the site. */
export async function load({ browser, base }, path, { width = 1280, height = 900, scheme = 'light', theme, until = 'networkidle0' } = {}) {
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', message => {
    if (['error', 'warn', 'warning'].includes(message.type())) wrong.push(`${path}: ${message.text()}`);
  });
  page.on('pageerror', error => wrong.push(`${path}: ${error.message}`));
  page.on('response', r => {
    if (r.status() >= 400) wrong.push(`${path}: ${r.url()} is ${r.status()}`);
  });
  page.on('request', r => {
    if (!r.url().startsWith(base) && !r.url().startsWith('data:')) wrong.push(`${path}: asks for ${r.url()}`);
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  // What an earlier page has chosen is kept, for all pages of the browser.
  await page.evaluateOnNewDocument(name => {
    if (name === null) localStorage.removeItem('mdbook-theme');
    else localStorage.setItem('mdbook-theme', name);
  }, theme ?? null);
  await page.goto(base + path, { waitUntil: until });
  return { page, wrong };
}
