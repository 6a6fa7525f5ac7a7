// A program in a terminal, and a picture of it: the terminal is xterm.js, in Chromium.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const part = name => readFileSync(new URL(`../node_modules/@xterm/xterm/${name}`, import.meta.url), 'utf8');

const THEMES = {
  light: {
    background: '#ffffff', foreground: '#1f2328', cursor: '#1f2328', black: '#24292f', red: '#b3261e', green: '#0a7227',
    yellow: '#8a6100', blue: '#1550b8', magenta: '#a3178c', cyan: '#0b6b6b', white: '#6e7781', brightBlack: '#57606a',
    brightRed: '#b3261e', brightGreen: '#0a7227', brightYellow: '#8a6100', brightBlue: '#1550b8', brightMagenta: '#a3178c',
    brightCyan: '#0b6b6b', brightWhite: '#24292f',
  },
  dark: {
    background: '#1e1e2e', foreground: '#e4e4ef', cursor: '#e4e4ef', black: '#45475a', red: '#ff9b93', green: '#8fd694',
    yellow: '#f7d58b', blue: '#8fc1ff', magenta: '#f29be0', cyan: '#7fdbd0', white: '#bac2de', brightBlack: '#9399b2',
    brightRed: '#ff9b93', brightGreen: '#8fd694', brightYellow: '#f7d58b', brightBlue: '#8fc1ff', brightMagenta: '#f29be0',
    brightCyan: '#7fdbd0', brightWhite: '#ffffff',
  },
};

const PAGE = `<!doctype html><meta charset="utf-8"><style>${part('css/xterm.css')}
body { margin: 0; } .scrollbar, .xterm-viewport { display: none !important; } #terminal { padding: 12px; width: max-content; }</style><div id="terminal"></div>`;

/**
 * Runs a shell's command with a terminal of its own, types `keys` one after the other, each when nothing has moved for a
 * while, and takes a picture of what is there at the end.
 *
 * @returns what the terminal shows, as text
 */
export async function terminal({ browser }, { command, cwd, keys = [], columns, rows, scheme, env = {}, path }) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1400, height: 1000, deviceScaleFactor: 1.5 });
  await page.setContent(PAGE);
  await page.addScriptTag({ content: part('lib/xterm.js') });
  // Python has what gives a program a terminal; Node has not.
  const script = `stty rows ${rows} cols ${columns}; ${command}`;
  const child = spawn('python3', ['-c', 'import pty, sys; pty.spawn(["sh", "-c", sys.argv[1]])', script], {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', COLORTERM: 'truecolor', NO_COLOR: undefined, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // What a terminal answers when it is asked, where its cursor is for example.
  await page.exposeFunction('answer', text => child.stdin.write(text));
  await page.evaluate(
    (options, theme) => {
      globalThis.term = new Terminal({ ...options, theme, fontFamily: 'DejaVu Sans Mono', fontSize: 15, cursorBlink: false });
      term.onData(text => answer(text));
      term.open(document.getElementById('terminal'));
    },
    { cols: columns, rows },
    THEMES[scheme],
  );
  let last = Date.now();
  let written = Promise.resolve();
  const ended = new Promise(resolve => child.on('close', resolve));
  child.stdout.on('data', bytes => {
    last = Date.now();
    const given = [...bytes];
    written = written.then(() => page.evaluate(b => new Promise(done => term.write(new Uint8Array(b), done)), given));
  });
  const quiet = async (for_ = 700, most = 20_000) => {
    const start = Date.now();
    while (Date.now() - Math.max(last, start) < for_ && Date.now() - start < most) await new Promise(r => setTimeout(r, 20));
    await written;
  };
  for (const text of keys) {
    await quiet();
    child.stdin.write(text);
  }
  if (keys.length === 0) await ended;
  await quiet();
  const shown = await page.evaluate(() => {
    const buffer = term.buffer.active;
    const lines = [];
    for (let i = 0; i < buffer.length; i++) lines.push(buffer.getLine(i).translateToString(true));
    // A cursor where nobody is typing is no part of the picture.
    term.write('\x1b[?25l');
    return lines.join('\n').trimEnd();
  });
  await quiet(100);
  await page.evaluate(used => term.resize(term.cols, Math.min(used + 1, term.rows)), shown.split('\n').length);
  await quiet(100);
  await page.evaluate(colour => (document.body.style.background = colour), THEMES[scheme].background);
  await (await page.$('#terminal')).screenshot({ path });
  child.kill();
  await page.close();
  return shown;
}
