import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const require = createRequire(import.meta.url);
const { load, document, Position, Range } = require('./editor.cjs');

const folder = mkdtempSync(join(tmpdir(), 'remora-extension-'));
after(() => rmSync(folder, { recursive: true }));
const remc = join(folder, 'remc');
writeFileSync(remc, '#!/bin/sh\n[ "$1 $2" = "lsp --help" ]\n');
chmodSync(remc, 0o755);

async function started(settings = { path: remc }) {
  const editor = load(settings);
  editor.context = { subscriptions: [] };
  await editor.extension.activate(editor.context);
  return editor;
}

test('the server is started, with its arguments, and started anew', async () => {
  const { clients, commands, messages, extension } = await started({ path: remc, arguments: ['--verbose'] });
  assert.equal(clients.length, 1);
  assert.deepEqual(clients[0].server, { command: remc, args: ['lsp', '--verbose'] });
  assert.deepEqual(clients[0].options.initializationOptions, { showsResults: true, checksValues: true });
  await commands['remora.restart']();
  assert.equal(clients.length, 2);
  assert.deepEqual(clients.map(c => c.state), [1, 2]);
  assert.deepEqual(messages, []);
  await extension.deactivate();
  assert.equal(clients[1].state, 1);
});

test('another path is another server', async () => {
  const { clients, state } = await started();
  for (const changed of state.changed) await changed({ affectsConfiguration: name => name === 'remora.path' });
  assert.equal(clients.length, 2);
  for (const changed of state.changed) await changed({ affectsConfiguration: () => false });
  assert.equal(clients.length, 2);
});

test('without remc there is a message with what helps, and a second try', async () => {
  const editor = await started({ path: join(folder, 'nothing') });
  assert.equal(editor.clients.length, 0);
  assert.match(editor.messages[0], /^Remora: There is no program .*nothing.*Change the setting/);
  editor.state.answer = choices => choices[0];
  await editor.commands['remora.restart']();
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(editor.state.opened, ['remora.path']);
  editor.state.settings = { path: remc };
  editor.state.answer = undefined;
  await editor.commands['remora.restart']();
  assert.equal(editor.clients.length, 1);
  assert.deepEqual(await started({ path: 'no-such-remc' }).then(e => e.messages.length), 1);
});

test('a server that does not start is said', async () => {
  const editor = load({ path: remc });
  editor.state.refuses = 'no pipe';
  await editor.extension.activate({ subscriptions: [] });
  assert.match(editor.messages[0], /remc did not start: no pipe/);
});

test('what a lens runs is shown, and the command runs the lens of the cursor', async () => {
  const editor = await started();
  const asked = [];
  editor.state.server = (command, args) => {
    asked.push([command, ...args]);
    return { text: `${args[1]} is 3.0` };
  };
  await editor.commands['remc.run']('file:///a.remora', 'main');
  assert.equal(editor.panels['Remora'].text, '; main\nmain is 3.0\n\n');
  assert.equal(editor.panels['Remora'].shown, 1);
  const lens = (line, command, name) => ({
    range: new Range(new Position(line, 0), new Position(line, 1)),
    command: { command, arguments: ['file:///a.remora', name] },
  });
  editor.state.lenses = [
    lens(9, 'remc.run', '#expr3'),
    lens(2, 'remc.run', 'first'),
    lens(5, 'remc.run', 'second'),
    lens(5, 'remc.explainPerformance', 'second'),
  ];
  const at = async (line, command) => {
    editor.vscode.window.activeTextEditor = { document: document(''), selection: { active: new Position(line, 0) } };
    await editor.commands[command]();
    return asked.at(-1);
  };
  assert.deepEqual(await at(6, 'remora.run'), ['remc.run', 'file:///a.remora', 'second']);
  assert.deepEqual(await at(5, 'remora.run'), ['remc.run', 'file:///a.remora', 'second']);
  assert.deepEqual(await at(4, 'remora.run'), ['remc.run', 'file:///a.remora', 'first']);
  assert.deepEqual(await at(0, 'remora.run'), ['remc.run', 'file:///a.remora', 'first']);
  assert.deepEqual(await at(99, 'remora.run'), ['remc.run', 'file:///a.remora', '#expr3']);
  assert.match(editor.panels['Remora'].text, /; the expression\n#expr3 is 3\.0\n\n$/);
  assert.deepEqual(await at(7, 'remora.explainPerformance'), ['remc.explainPerformance', 'file:///a.remora', 'second']);
  assert.match(editor.panels['Remora'].text, /; the performance of second\n/);
  editor.state.lenses = [];
  await at(1, 'remora.run');
  assert.match(editor.messages.at(-1), /no entry and no expression/);
});

test('letters are offered after a backslash, and where a keyword may stand', async () => {
  const { state } = await started();
  const offered = before => {
    const open = document(before);
    return state.completion(open, open.cursor).map(i => [i.filterText, i.insertText, i.range.start.character]);
  };
  assert.deepEqual(offered('(\\lam'), [['\\lambda', 'λ', 1]]);
  assert.deepEqual(offered('x \\Si'), [['\\Sigma', 'Σ', 2]]);
  assert.deepEqual(offered('(lam'), [['lambda', 'λ', 1]]);
  assert.deepEqual(offered('(: f (-'), [['->', '→', 6]]);
  assert.deepEqual(offered('(f lam'), []);
});

test('a letter is inserted, and keywords are written with letters', async () => {
  const editor = await started();
  const open = document('(fn (x) (: x (-> (int) int)))');
  const edits = [];
  const here = new Range(new Position(0, 3), new Position(0, 3));
  editor.vscode.window.activeTextEditor = {
    document: open,
    selections: [here],
    edit: async f => f({ replace: (range, text) => edits.push([range.start.character, range.end.character, text]) }),
  };
  editor.state.picked = 'Σ';
  await editor.commands['remora.insertLetter']();
  editor.state.picked = 'none';
  await editor.commands['remora.insertLetter']();
  await editor.commands['remora.wordsToLetters']();
  assert.deepEqual(edits, [[3, 3, 'Σ'], [0, 29, '(λ (x) (: x (→ (int) int)))']]);
});
