import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

test('what the manifest names is there', () => {
  const { languages, grammars } = manifest.contributes;
  for (const file of [manifest.main, ...languages.map(l => l.configuration), ...grammars.map(g => g.path)]) {
    assert.ok(existsSync(join(folder, file)), file);
  }
  for (const language of languages) JSON.parse(readFileSync(join(folder, language.configuration), 'utf8'));
  const source = readFileSync(join(folder, 'src/extension.ts'), 'utf8');
  for (const { command } of manifest.contributes.commands) assert.ok(source.includes(`'${command}'`), command);
});

test('no address of a registry is in the lock', () => {
  assert.doesNotMatch(readFileSync(join(folder, 'package-lock.json'), 'utf8'), /"resolved"/);
});

test('the package is built from what is installed, and holds what it needs and nothing else', () => {
  const at = mkdtempSync(join(tmpdir(), 'remora-vsix-'));
  try {
    const file = join(at, 'remora.vsix');
    // Without a network: no address is reached through these proxies.
    const env = { ...process.env, HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', npm_config_offline: 'true' };
    execFileSync('node', ['build.mjs', file], { cwd: folder, env });
    const listed = execFileSync('python3', ['-c', 'import sys,zipfile; print("\\n".join(zipfile.ZipFile(sys.argv[1]).namelist()))', file], { encoding: 'utf8' })
      .trim().split('\n').sort();
    const own = listed.filter(name => !name.includes('/node_modules/'));
    assert.deepEqual(own, [
      '[Content_Types].xml',
      'extension.vsixmanifest',
      'extension/LICENSE.txt',
      'extension/README.md',
      'extension/language-configuration.json',
      'extension/out/extension.js',
      'extension/out/letters.js',
      'extension/out/program.js',
      'extension/out/text.js',
      'extension/package.json',
      'extension/syntaxes/markdown.tmLanguage.json',
      'extension/syntaxes/remora.tmLanguage.json',
    ]);
    const packages = new Set(listed.map(name => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1]).filter(Boolean));
    assert.ok(packages.has('vscode-languageclient') && packages.has('vscode-jsonrpc'), [...packages].join());
    assert.ok(!packages.has('typescript') && !packages.has('@vscode/vsce'), [...packages].join());
    assert.ok(listed.length < 400, `${listed.length} files`);
    // It loads: what its modules require is in the package, but for the editor itself.
    execFileSync('python3', ['-m', 'zipfile', '-e', file, at]);
    execFileSync('node', ['-e', LOAD, join(at, 'extension')], { encoding: 'utf8' });
  } finally {
    rmSync(at, { recursive: true });
  }
});

// Loads the extension beside an editor that has everything and does nothing.
const LOAD = `
  const Module = require('module');
  const anything = new Proxy(function () {}, { get: (_, name) => name === 'prototype' ? {} : anything, construct: () => ({}), apply: () => anything });
  const load = Module._load;
  Module._load = (name, ...rest) => name === 'vscode' ? new Proxy({}, { get: (_, key) => key === 'version' ? '1.82.0' : class {} }) : load(name, ...rest);
  const extension = require(process.argv[1]);
  if (typeof extension.activate !== 'function' || typeof extension.deactivate !== 'function') process.exit(1);
`;
