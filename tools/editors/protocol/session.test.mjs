// The language server as somebody else's library speaks to it: `vscode-languageserver-protocol`, over `remc lsp`'s pipes.
// Each request that the server says it answers is asked once, and each answer is looked at. Positions are 16-bit units, as
// VS Code counts. What the answers have to be in all cases is tested in `tools/lsp` and `compiler/ide`.
//
// REMC is the program. `tools/setup test --all` runs this.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import protocol from 'vscode-languageserver-protocol/node.js';
import { TextDocument } from 'vscode-languageserver-textdocument';

const {
  ApplyWorkspaceEditRequest, CodeActionRequest, CodeLensRequest, CompletionRequest, CompletionResolveRequest,
  DefinitionRequest, DidChangeTextDocumentNotification, DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification, DidSaveTextDocumentNotification, DocumentDiagnosticRequest, DocumentFormattingRequest,
  DocumentHighlightRequest, DocumentOnTypeFormattingRequest, DocumentRangeFormattingRequest, DocumentSymbolRequest,
  ExecuteCommandRequest, ExitNotification, FoldingRangeRequest, HoverRequest, InitializedNotification, InitializeRequest,
  InlayHintRequest, PrepareRenameRequest, ProposedFeatures, PublishDiagnosticsNotification, ReferencesRequest,
  RegistrationRequest, RenameRequest, SelectionRangeRequest, SemanticTokensDeltaRequest, SemanticTokensRangeRequest,
  SemanticTokensRequest, ShowMessageNotification, ShutdownRequest, SignatureHelpRequest,
  WorkDoneProgress, WorkDoneProgressCreateRequest, WorkspaceSymbolRequest, CancellationTokenSource,
  createProtocolConnection, StreamMessageReader, StreamMessageWriter, ResponseError, LSPErrorCodes,
} = protocol;

const remc = process.env.REMC;
assert.ok(remc, 'REMC names the program');

const folder = mkdtempSync(join(tmpdir(), 'remora-protocol-'));
const uriOf = name => pathToFileURL(join(folder, name)).href;
const MAIN = uriOf('main.remora');
const LIB = uriOf('λ 𝄞.remora');
const lib = '; Twice as much.\n; (twice 3) ⇒ 6\n(define (twice [λ𝄞 0]) (* λ𝄞 2))\n';
const main = `(import "λ 𝄞.remora")
; The length
; of a vector.
(define (norm [𝄞 [float n]]) (sqrt (sum (* 𝄞 𝄞))))

; (main [3.0 4.0] 1) ⇒ 5.0
(entry (main [xs [float n]] [k int])
  (* (norm xs) (int->float (index-item [1 2 3] (- k 1)))))
(twice (iota [3]))  ; ⇒ [0 2 5]
`;
writeFileSync(fileURLToPath(LIB), lib);
writeFileSync(fileURLToPath(MAIN), main);

let server, connection, capabilities, code;
const shown = [], registered = [], progress = [], edits = [], published = new Map();
// The documents as the client has them.
const documents = new Map();

/** A server with a client that can do all, or other things. */
function start(more) {
  server = spawn(remc, ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  code = new Promise(resolve => server.on('exit', resolve));
  connection = createProtocolConnection(
    new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin), undefined, ProposedFeatures);
  connection.onRequest(RegistrationRequest.type, params => { registered.push(...params.registrations); });
  connection.onRequest(WorkDoneProgressCreateRequest.type, params => {
    connection.onProgress(WorkDoneProgress.type, params.token, value => progress.push(value.kind));
  });
  connection.onRequest(ApplyWorkspaceEditRequest.type, params => { edits.push(params.edit); return { applied: true }; });
  connection.onNotification(ShowMessageNotification.type, params => shown.push(params.message));
  connection.onNotification(PublishDiagnosticsNotification.type, params => published.set(params.uri, params));
  connection.listen();
  return connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    workspaceFolders: [{ uri: pathToFileURL(folder).href, name: 'project' }],
    capabilities: {
      general: { positionEncodings: ['utf-16'] },
      window: { workDoneProgress: true },
      workspace: { didChangeWatchedFiles: { dynamicRegistration: true }, workspaceEdit: { documentChanges: true } },
      textDocument: {
        publishDiagnostics: { relatedInformation: true },
        hover: { contentFormat: ['markdown'] },
        completion: { completionItem: { snippetSupport: true, resolveSupport: { properties: ['documentation'] } } },
        documentSymbol: { hierarchicalDocumentSymbolSupport: true },
        codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'refactor.rewrite', 'source'] } } },
        ...more,
      },
    },
  });
}

function open(uri, text) {
  const document = TextDocument.create(uri, 'remora', 1, text);
  documents.set(uri, document);
  return connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: 'remora', version: 1, text },
  });
}

/** Types: replaces a part of a document's text. */
async function change(uri, from, to) {
  const document = documents.get(uri);
  const at = document.getText().indexOf(from);
  assert.ok(at >= 0, `no ${from} in\n${document.getText()}`);
  const range = { start: document.positionAt(at), end: document.positionAt(at + from.length) };
  const contentChanges = [{ range, text: to }];
  TextDocument.update(document, contentChanges, document.version + 1);
  await connection.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: document.version }, contentChanges,
  });
}

const textDocument = { uri: MAIN };
/** Where a part of the text begins, and some bytes on. */
const place = (part, more = 0, uri = MAIN) => {
  const at = documents.get(uri).getText().indexOf(part);
  assert.ok(at >= 0, `no ${part}`);
  return documents.get(uri).positionAt(at + more);
};
const at = (part, more, uri = MAIN) => ({ textDocument: { uri }, position: place(part, more, uri) });
const ask = (type, params) => connection.sendRequest(type, params);
const text = (uri, range) => documents.get(uri).getText(range);
/** The texts of documents after an edit of the workspace. */
function edited(edit) {
  const changes = edit.documentChanges.map(c => [c.textDocument.uri, c.edits]);
  return new Map(changes.map(([uri, edits]) => [uri, TextDocument.applyEdits(documents.get(uri), edits)]));
}
async function until(what, f) {
  for (let waited = 0; waited < 60_000; waited += 10) {
    const found = await f();
    if (found) return found;
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  assert.fail(`not in a minute: ${what}`);
}
/** The messages about a version of a document that are told of its own accord. */
const told = uri => until(`the diagnostics of ${uri}`, () => {
  const found = published.get(uri);
  return found?.version === documents.get(uri).version && found.diagnostics;
});

before(async () => {
  ({ capabilities } = await start({}));
  await connection.sendNotification(InitializedNotification.type, {});
  await open(LIB, lib);
  await open(MAIN, main);
  assert.deepEqual(await told(MAIN), []);
});

after(async () => {
  await ask(ShutdownRequest.type, undefined);
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await code, 0);
  rmSync(folder, { recursive: true });
});

test('it says what it can', async () => {
  const promised = ['completionProvider', 'hoverProvider', 'signatureHelpProvider', 'definitionProvider', 'referencesProvider',
    'documentHighlightProvider', 'documentSymbolProvider', 'workspaceSymbolProvider', 'codeActionProvider', 'codeLensProvider',
    'documentFormattingProvider', 'documentRangeFormattingProvider', 'documentOnTypeFormattingProvider', 'renameProvider',
    'foldingRangeProvider', 'selectionRangeProvider', 'inlayHintProvider', 'semanticTokensProvider', 'executeCommandProvider'];
  for (const name of promised) assert.ok(capabilities[name], name);
  assert.equal(capabilities.positionEncoding, 'utf-16');
  await until('files are watched', () => registered.some(r => r.method === 'workspace/didChangeWatchedFiles'));
});

test('hover, definition, references, highlights', async () => {
  const hover = await ask(HoverRequest.type, at('(twice', 2));
  assert.match(hover.contents.value, /Twice as much/);
  assert.equal(text(MAIN, hover.range), 'twice');
  const [definition] = [await ask(DefinitionRequest.type, at('(twice', 2))].flat();
  assert.equal(definition.uri, LIB);
  assert.equal(text(LIB, definition.range), 'twice');
  const references = await ask(ReferencesRequest.type, { ...at('(norm xs', 1), context: { includeDeclaration: true } });
  assert.deepEqual(references.map(r => r.range.start.line).sort((a, b) => a - b), [3, 7]);
  const highlights = await ask(DocumentHighlightRequest.type, at('𝄞 𝄞', 0));
  assert.deepEqual(highlights.map(h => text(MAIN, h.range)), ['𝄞', '𝄞', '𝄞']);
});

test('rename, in both files, and its refusals', async () => {
  const can = await ask(PrepareRenameRequest.type, at('(twice', 1));
  assert.equal(can.placeholder, 'twice');
  const after = edited(await ask(RenameRequest.type, { ...at('(twice', 1), newName: 'doubled' }));
  assert.match(after.get(LIB), /\(define \(doubled \[λ𝄞 0\]\)/);
  assert.match(after.get(MAIN), /\n\(doubled \(iota/);
  await assert.rejects(ask(RenameRequest.type, { ...at('(twice', 1), newName: 'norm' }), ResponseError);
  await assert.rejects(ask(PrepareRenameRequest.type, at('(iota', 1)), /defined by the language/);
});

test('completion, with its documentation later, and signatures', async () => {
  await change(MAIN, '(twice (iota', '(twi (iota');
  const list = await ask(CompletionRequest.type, at('(twi ', 4));
  const [first] = list.items;
  assert.equal(first.label, 'twice');
  const resolved = await ask(CompletionResolveRequest.type, first);
  assert.match(resolved.documentation.value, /Twice as much/);
  assert.match(TextDocument.applyEdits(documents.get(MAIN), [first.textEdit]), /\(twice \(iota/);
  await change(MAIN, '(twi (iota', '(twice (iota');
  const help = await ask(SignatureHelpRequest.type, at('(norm xs', 7));
  const [signature] = help.signatures;
  const [from, to] = signature.parameters[0].label;
  assert.equal(signature.label.slice(from, to), '𝄞');
});

test('inlay hints, which a click writes', async () => {
  const range = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
  const hints = await ask(InlayHintRequest.type, { textDocument, range });
  assert.ok(hints.length > 0);
  const written = hints.filter(h => h.textEdits?.length > 0);
  assert.ok(written.length > 0);
  for (const hint of written) assert.notEqual(TextDocument.applyEdits(documents.get(MAIN), hint.textEdits), main);
});

test('symbols, folds, selections', async () => {
  const symbols = await ask(DocumentSymbolRequest.type, { textDocument });
  assert.deepEqual(symbols.slice(1, 3).map(s => s.name), ['norm', 'main']);
  const [found] = await ask(WorkspaceSymbolRequest.type, { query: 'twc' });
  assert.equal(found.name, 'twice');
  const folds = await ask(FoldingRangeRequest.type, { textDocument });
  assert.ok(folds.some(f => f.startLine === 6 && f.endLine === 7), JSON.stringify(folds));
  const [selection] = await ask(SelectionRangeRequest.type, { textDocument, positions: [place('xs) (int')] });
  assert.equal(text(MAIN, selection.range), 'xs');
  assert.equal(text(MAIN, selection.parent.parent.range), '(norm xs)');
});

test('semantic tokens: all, some, and what changes', async () => {
  const { tokenTypes } = capabilities.semanticTokensProvider.legend;
  const full = await ask(SemanticTokensRequest.type, { textDocument });
  let line = 0, character = 0;
  const names = new Set();
  for (let k = 0; k < full.data.length; k += 5) {
    const [lines, columns, length, type] = full.data.slice(k, k + 5);
    [line, character] = lines ? [line + lines, columns] : [line, character + columns];
    names.add(`${tokenTypes[type]} ${text(MAIN, { start: { line, character }, end: { line, character: character + length } })}`);
  }
  for (const name of ['parameter 𝄞', 'keyword define', 'function norm', 'type float']) assert.ok(names.has(name), name);
  const range = { start: { line: 3, character: 0 }, end: { line: 4, character: 0 } };
  const some = await ask(SemanticTokensRangeRequest.type, { textDocument, range });
  assert.ok(some.data.length > 0 && some.data.length < full.data.length);
  await change(MAIN, '(iota [3])', '(iota [3 1])');
  const delta = await ask(SemanticTokensDeltaRequest.type, { textDocument, previousResultId: full.resultId });
  assert.ok(delta.edits.length === 1 && delta.edits[0].data.length < full.data.length, JSON.stringify(delta));
  await change(MAIN, '(iota [3 1])', '(iota [3])');
});

test('formatting: whole, a range, while typing', async () => {
  const options = { tabSize: 2, insertSpaces: true };
  await change(MAIN, '\n  (* (norm', '\n          (*   (norm');
  const whole = await ask(DocumentFormattingRequest.type, { textDocument, options });
  assert.equal(TextDocument.applyEdits(documents.get(MAIN), whole), main);
  const range = { start: place('(entry'), end: place('(entry', 3) };
  const part = await ask(DocumentRangeFormattingRequest.type, { textDocument, range, options });
  assert.equal(TextDocument.applyEdits(documents.get(MAIN), part), main);
  const typed = await ask(DocumentOnTypeFormattingRequest.type, { ...at('k 1)))))', 8), ch: ')', options });
  assert.match(TextDocument.applyEdits(documents.get(MAIN), typed), /\n {2}\(\*/);
  await change(MAIN, '\n          (*   (norm', '\n  (* (norm');
});

test('a mistake is told with its places, mended by its quick fix, and told again to whoever asks', async () => {
  await change(MAIN, '(twice (iota', '(twcie (iota');
  const [wrong] = await told(MAIN);
  assert.match(wrong.message, /twcie/);
  assert.equal(text(MAIN, wrong.range), 'twcie');
  assert.match(readFileSync(fileURLToPath(wrong.codeDescription.href), 'utf8'), /E0501/);
  const context = { diagnostics: [wrong], only: ['quickfix'] };
  const [fix] = await ask(CodeActionRequest.type, { textDocument, range: wrong.range, context });
  assert.equal(edited(fix.edit).get(MAIN), main);
  await change(MAIN, '(twcie', '(twice');
  assert.deepEqual(await told(MAIN), []);
  await change(MAIN, '; (main', '(define norm 1)\n; (main');
  const [again] = await told(MAIN);
  assert.equal(again.relatedInformation[0].location.uri, MAIN);
  await change(MAIN, '(define norm 1)\n', '');
  // What is not saved counts.
  await change(LIB, 'twice [', 'thrice [');
  const [gone] = await until('the library is looked at again', async () => {
    const found = published.get(MAIN).diagnostics;
    return found.length > 0 && found;
  });
  assert.match(gone.message, /twice/);
  await change(LIB, 'thrice [', 'twice [');
  await until('all is well', () => published.get(MAIN).diagnostics.length === 0);
});

test('lenses run, explain, and tell of progress', async () => {
  const lenses = await ask(CodeLensRequest.type, { textDocument });
  const titles = lenses.map(l => l.command.title);
  assert.deepEqual(titles, ['Run (main [3.0 4.0] 1)', 'Explain performance', 'Run', 'Explain performance']);
  const [run, explain, expression] = lenses.map(l => l.command);
  const ran = await ask(ExecuteCommandRequest.type, { command: run.command, arguments: run.arguments });
  assert.equal(ran.text, '5.0');
  assert.ok(shown.some(s => s.includes('5.0')), shown.join('\n'));
  await until('its progress ends', () => progress.includes('begin') && progress.includes('end'));
  const value = await ask(ExecuteCommandRequest.type, { command: expression.command, arguments: expression.arguments });
  assert.equal(value.text, '[0 2 4]');
  const cost = await ask(ExecuteCommandRequest.type, { command: explain.command, arguments: explain.arguments });
  assert.match(cost.text, /main/);
});

test('what comments claim is compared, and mended', async () => {
  await connection.sendNotification(DidSaveTextDocumentNotification.type, { textDocument });
  const [wrong] = await until('a claim that does not hold', () => {
    const found = published.get(MAIN).diagnostics;
    return found.length > 0 && found;
  });
  assert.match(wrong.message, /\[0 2 5\][^]*\[0 2 4\]/);
  const [fix] = await ask(CodeActionRequest.type, { textDocument, range: wrong.range, context: { diagnostics: [wrong] } });
  assert.equal(edited(fix.edit).get(MAIN), main.replace('[0 2 5]', '[0 2 4]'));
  await change(MAIN, '⇒ [0 2 5]', '⇒');
  const actions = await ask(CodeActionRequest.type, { ...at('; ⇒\n'), range: { start: place('; ⇒\n'), end: place('; ⇒\n') }, context: { diagnostics: [] } });
  const { command } = actions.find(a => a.title === 'Write the value of (twice (iota [3]))');
  await ask(ExecuteCommandRequest.type, { command: command.command, arguments: command.arguments });
  const edit = await until('the edit', () => edits.pop());
  assert.equal(edited(edit).get(MAIN), main.replace('[0 2 5]', '[0 2 4]'));
  const compared = await ask(ExecuteCommandRequest.type, { command: 'remc.checkValues', arguments: [LIB] });
  assert.equal(compared.text, '1 holds');
  await change(MAIN, '⇒\n', '⇒ [0 2 5]\n');
});

test('half a form has the last good answers; what is cancelled ends', async () => {
  await change(MAIN, '(sum (* 𝄞 𝄞))', '(sum (* 𝄞 𝄞) (red');
  const hover = await ask(HoverRequest.type, at('𝄞 𝄞)', 0));
  assert.match(hover.contents.value, /float/);
  await change(MAIN, '(sum (* 𝄞 𝄞) (red', '(sum (* 𝄞 𝄞))');
  const source = new CancellationTokenSource();
  const endless = '(entry (endless) (loop ((i 0)) while (>= i 0) do (- 1 i)))';
  await open(uriOf('endless.remora'), endless);
  const asked = connection.sendRequest(
    ExecuteCommandRequest.type, { command: 'remc.run', arguments: [uriOf('endless.remora'), 'endless'] }, source.token);
  setTimeout(() => source.cancel(), 300);
  await assert.rejects(asked, error => error.code === LSPErrorCodes.RequestCancelled);
  await connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri: uriOf('endless.remora') } });
});

test('a client that asks is told when it asks', async () => {
  // In a server of its own.
  const saved = [server, connection, code];
  const { capabilities } = await start({ diagnostic: {} });
  assert.equal(capabilities.diagnosticProvider.interFileDependencies, true);
  await connection.sendNotification(InitializedNotification.type, {});
  const uri = 'untitled:Untitled-1';
  await open(uri, '(+ 1 y)');
  const first = await ask(DocumentDiagnosticRequest.type, { textDocument: { uri } });
  assert.match(first.items[0].message, /y/);
  const again = await ask(DocumentDiagnosticRequest.type, { textDocument: { uri }, previousResultId: first.resultId });
  assert.equal(again.kind, 'unchanged');
  await change(uri, 'y', '2');
  const mended = await ask(DocumentDiagnosticRequest.type, { textDocument: { uri } });
  assert.deepEqual(mended.items, []);
  await ask(ShutdownRequest.type, undefined);
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await code, 0);
  [server, connection, code] = saved;
});
