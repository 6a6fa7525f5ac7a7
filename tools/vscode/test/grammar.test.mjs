import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tokens } from './textmate.mjs';

const root = new URL('../../../', import.meta.url);
const read = name => readFileSync(new URL(name, root), 'utf8');

test('the sample has the scopes that are expected', () => {
  let found = '';
  for (const { text, scopes } of tokens(read('tools/tree-sitter-remora/tests/sample.remora'))) {
    const scope = scopes.at(-1) ?? 'none';
    if (text.trim() === '' || scope.startsWith('punctuation.section')) continue;
    found += `${scope.replace(/\.remora$/, '')}: ${text.trim()}\n`;
  }
  const expected = 'tools/vscode/test/sample.scopes';
  if (process.env.UPDATE_EXPECT) writeFileSync(new URL(expected, root), found);
  assert.equal(found, read(expected));
});

/** The programs of a folder and of those in it. */
function programs(folder) {
  return readdirSync(new URL(folder, root), { recursive: true })
    .filter(name => name.endsWith('.remora'))
    .map(name => `${folder}/${name}`)
    .sort();
}

// What both grammars tell apart; of the rest, TextMate's guesses.
const CLASSES = [
  ['comment', /^comment/],
  ['string', /^string|^constant\.character\.escape|^invalid\.illegal\.escape/],
  ['character', /^constant\.character(?!\.escape)/],
  ['number', /^constant\.numeric/],
  ['boolean', /^constant\.language\.boolean/],
  ['keyword', /^keyword\.(declaration|control|other)|^storage\.type/],
];

/** Of each place of a text that is not blank, what it is. */
function classes(text) {
  const found = text.split('\n').map(line => new Array(line.length).fill(''));
  for (const { row, start, end, scopes } of tokens(text)) {
    const scope = scopes.findLast(s => !s.startsWith('punctuation.definition')) ?? '';
    const of = CLASSES.find(([, pattern]) => pattern.test(scope))?.[0] ?? '';
    found[row].fill(of, start, end);
  }
  return found;
}

const treeSitter = process.env.REMC_TREE_SITTER;

test('both grammars see the same', { skip: treeSitter === undefined && 'REMC_TREE_SITTER names no tree-sitter' }, () => {
  const names = ['prelude', 'examples', 'testsuite/programs', 'tools/bench'].flatMap(programs);
  const grammar = new URL('tools/tree-sitter-remora/', root);
  const said = execFileSync(
    treeSitter,
    ['query', '--captures', fileURLToPath(new URL('test/classes.scm', grammar)), ...names.map(n => fileURLToPath(new URL(n, root)))],
    { cwd: grammar, encoding: 'utf8', maxBuffer: 1 << 29 },
  );
  // A line with a file's name, then one for each capture, with columns in bytes.
  const captures = new Map(names.map(name => [name, []]));
  let current = [];
  for (const line of said.split('\n')) {
    const capture = /capture: (?:\d+ - )?(\w+), start: \((\d+), (\d+)\), end: \((\d+), (\d+)\)/.exec(line);
    if (capture !== null) {
      const [row, column, endRow, endColumn] = capture.slice(2).map(Number);
      current.push({ of: capture[1], row, column, endRow, endColumn });
    } else if (!line.startsWith(' ') && line.trim() !== '') {
      current = captures.get(names.find(name => line.endsWith(name))) ?? [];
    }
  }
  let compared = 0;
  for (const name of names) {
    const text = read(name);
    const lines = text.split('\n');
    const wanted = lines.map(line => new Array(line.length).fill(''));
    for (const { of, row, column, endRow, endColumn } of captures.get(name)) {
      for (let at = row; at <= endRow && at < lines.length; at++) {
        const units = bytes => Buffer.from(lines[at]).subarray(0, bytes).toString().length;
        wanted[at].fill(of, at === row ? units(column) : 0, at === endRow ? units(endColumn) : lines[at].length);
        compared++;
      }
    }
    const found = classes(text);
    for (const [row, line] of lines.entries()) {
      for (let at = 0; at < line.length; at++) {
        // Ranks, `all` and marks are no matter.
        if (line[at] === ' ' || found[row][at] === wanted[row][at]) continue;
        assert.fail(`${name}:${row + 1}:${at + 1}: TextMate's ${found[row][at]}, tree-sitter's ${wanted[row][at]}: ${line}`);
      }
    }
  }
  assert.ok(compared > 10000, `${compared} tokens`);
});

test('half of a text is no trouble', () => {
  const text = read('examples/lu.remora').slice(0, 1500);
  for (let end = 0; end < text.length; end += 7) tokens(text.slice(0, end));
});
