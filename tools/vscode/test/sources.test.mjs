import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const { LETTERS, backslashed, headWord, named, withLetters } = require('../out/letters.js');
const { find, check } = require('../out/program.js');
const { asText, heading } = require('../out/text.js');

test('a backslash and the beginning of a name give letters', () => {
  assert.equal(backslashed('(\\lam'), '\\lam');
  assert.equal(backslashed('x \\'), '\\');
  assert.equal(backslashed('(lam'), undefined);
  assert.equal(backslashed('\\lambda x'), undefined);
  const of = prefix => named(prefix).map(({ name, letter }) => `${name} ${letter.letter}`);
  assert.deepEqual(of('lam'), ['lambda λ']);
  assert.deepEqual(of('for'), ['forall ∀']);
  assert.deepEqual(of('Sig'), ['Sigma Σ']);
  assert.deepEqual(of('Pi'), ['Pi Π']);
  assert.deepEqual(of('to'), ['to →']);
  assert.deepEqual(of('Right'), ['Rightarrow ⇒']);
  assert.deepEqual(of('nothing'), []);
  assert.ok(of('').length > LETTERS.length);
});

test('a word after a bracket gives a letter, elsewhere it is a name', () => {
  assert.equal(headWord('(map (lamb'), 'lamb');
  assert.equal(headWord('[x (->'), '->');
  assert.equal(headWord('(f lamb'), undefined);
  assert.equal(headWord('('), undefined);
});

test('keywords become letters where they are keywords', () => {
  assert.equal(withLetters('(fn (x) (f fn x))'), '(λ (x) (f fn x))');
  assert.equal(withLetters('( ; why (fn\n lambda ([x 1]) x)'), '( ; why (fn\n λ ([x 1]) x)');
  assert.equal(withLetters('(: f (Forall ((t num)) (Pi (n) (-> ([t n]) (Sigma (k) [t k])))))'),
    '(: f (∀ ((t num)) (Π (n) (→ ([t n]) (Σ (k) [t k])))))');
  assert.equal(withLetters('"(fn" #\\( #| (fn #| (fn |# (fn |# (t-fn (t) ((i-fn (n) x) fn-1))'),
    '"(fn" #\\( #| (fn #| (fn |# (fn |# (Tλ (t) ((Iλ (n) x) fn-1))');
  assert.equal(withLetters('(f #\\fn "a\\"(fn" (lambda'), '(f #\\fn "a\\"(fn" (λ');
});

test('a program is found on the path, by its path, in the workspace and at home', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'remora-vscode-'));
  try {
    const program = join(folder, 'remc');
    writeFileSync(program, '#!/bin/sh\n[ "$1 $2" = "lsp --help" ]\n');
    const none = { workspace: undefined, path: `${tmpdir()}/nothing:${folder}` };
    assert.match(find('remc', { ...none, path: '/nowhere' }).problem, /in no folder of PATH.*tools\/setup.*remora\.path/);
    assert.match(find('remc', none).problem, /in no folder of PATH/, 'not executable');
    chmodSync(program, 0o755);
    assert.deepEqual(find('remc', none), { program });
    assert.deepEqual(find('', none), { program });
    assert.deepEqual(find(program, { workspace: undefined, path: undefined }), { program });
    assert.deepEqual(find('${workspaceFolder}/remc', { ...none, workspace: folder }), { program });
    assert.deepEqual(find('./remc', { ...none, workspace: folder }), { program });
    assert.match(find('${workspaceFolder}/remc', none).problem, /no folder is open/);
    assert.match(find('~/no-such-folder/remc', none).problem, new RegExp(`There is no program ${homedir()}/no-such-folder/remc`));
    assert.match(find(folder, { workspace: undefined, path: undefined }).problem, /There is no program/);
    assert.deepEqual(await check(program), { program });
    writeFileSync(program, '#!/bin/sh\nexit 2\n');
    assert.match((await check(program)).problem, /has no language server.*older remc/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what a command gives is shown as text', () => {
  assert.equal(asText('[1 2]\n'), '[1 2]');
  assert.equal(asText(null), '');
  assert.equal(asText({ text: '3\n', failed: true }), '3');
  assert.equal(heading(true, 'main'), '; main');
  assert.equal(heading(false, '#expr2'), '; the performance of the expression');
  assert.equal(heading(true, undefined), '; the expression');
  assert.equal(asText({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
});
