// The extension: it starts `remc lsp`, and shows what the server's commands give.
//
// What the editor shows of a program is the server's: messages, types, completion, formatting. Here is only what a
// server cannot do: find the program, letters that no keyboard has, and a place for values.

import * as vscode from 'vscode';
import { LanguageClient, type LanguageClientOptions, State } from 'vscode-languageclient/node';
import { LETTERS, backslashed, headWord, named, withLetters } from './letters';
import { check, find } from './program';
import { asText, heading } from './text';

/** The server's commands behind its lenses; both take the text's URI and a name, and give `{ text }`. */
const RUN = 'remc.run';
const EXPLAIN = 'remc.explainPerformance';

let client: LanguageClient | undefined;
/** Values, written as a program would be, and what the server says of itself. */
let output: vscode.OutputChannel;
let log: vscode.OutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel('Remora', 'remora');
  log = vscode.window.createOutputChannel('Remora language server');
  context.subscriptions.push(
    output,
    log,
    vscode.commands.registerCommand('remora.restart', start),
    vscode.commands.registerCommand('remora.showOutput', () => output.show(true)),
    vscode.commands.registerCommand('remora.run', () => atCursor(RUN)),
    vscode.commands.registerCommand('remora.explainPerformance', () => atCursor(EXPLAIN)),
    vscode.commands.registerCommand('remora.insertLetter', insertLetter),
    vscode.commands.registerCommand('remora.wordsToLetters', wordsToLetters),
    vscode.languages.registerCompletionItemProvider('remora', { provideCompletionItems: letters }, '\\'),
    vscode.workspace.onDidChangeConfiguration(async change => {
      const read = ['remora.path', 'remora.arguments', 'remora.checkValues'];
      if (read.some(name => change.affectsConfiguration(name))) await start();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

// ---- the server

async function start(): Promise<void> {
  const before = client;
  client = undefined;
  // What did not start cannot be stopped, and what ended has been.
  await before?.dispose().catch(() => undefined);
  const settings = vscode.workspace.getConfiguration('remora');
  let found = find(settings.get('path', 'remc'), {
    workspace: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    path: process.env['PATH'],
  });
  if ('program' in found) found = await check(found.program);
  if ('problem' in found) {
    await cannotStart(found.problem);
    return;
  }
  const options: LanguageClientOptions = {
    documentSelector: [{ language: 'remora' }],
    outputChannel: log,
    // Values are shown here, as text of a panel, and not by the server.
    initializationOptions: { showsResults: true, checksValues: settings.get('checkValues', true) },
    middleware: {
      // The lenses run commands of the server: their value is shown, wherever they were run from.
      executeCommand: async (command, args, next) => {
        const value: unknown = await next(command, args);
        if (command === RUN || command === EXPLAIN) show(command, args, value);
        return value;
      },
    },
  };
  client = new LanguageClient(
    'remora',
    'Remora language server',
    { command: found.program, args: ['lsp', ...settings.get<string[]>('arguments', [])] },
    options,
  );
  try {
    await client.start();
  } catch (error) {
    await cannotStart(`${found.program} did not start: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function cannotStart(problem: string): Promise<void> {
  output.appendLine(`; ${problem}`);
  const settings = 'Open Setting';
  const again = 'Try Again';
  // Waiting for the answer would keep the extension from becoming active.
  void vscode.window.showErrorMessage(`Remora: ${problem}`, settings, again).then(async choice => {
    if (choice === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'remora.path');
    if (choice === again) await start();
  });
}

// ---- values

/** Runs the command of the lens of that kind that the cursor is in or after, else of the first one. */
async function atCursor(command: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== 'remora') {
    void vscode.window.showInformationMessage('Remora: open a program first.');
    return;
  }
  if (client === undefined || client.state !== State.Running) {
    void vscode.window.showInformationMessage('Remora: the language server is not running.');
    return;
  }
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    'vscode.executeCodeLensProvider',
    editor.document.uri,
    1000,
  );
  const fitting = lenses.filter(lens => lens.command?.command === command);
  fitting.sort((a, b) => a.range.start.compareTo(b.range.start));
  const line = editor.selection.active.line;
  const lens = fitting.filter(l => l.range.start.line <= line).pop() ?? fitting[0];
  if (lens?.command === undefined) {
    void vscode.window.showInformationMessage('Remora: this text has no entry and no expression to run.');
    return;
  }
  await vscode.commands.executeCommand(lens.command.command, ...(lens.command.arguments ?? []));
}

function show(command: string, args: unknown[], value: unknown): void {
  output.appendLine(heading(command === RUN, args[1]));
  output.appendLine(asText(value));
  output.appendLine('');
  output.show(true);
}

// ---- letters

function letters(document: vscode.TextDocument, position: vscode.Position): vscode.CompletionItem[] {
  const before = document.lineAt(position).text.slice(0, position.character);
  const items: vscode.CompletionItem[] = [];
  const add = (typed: string, name: string, letter: string, what: string) => {
    const item = new vscode.CompletionItem({ label: letter, description: name }, vscode.CompletionItemKind.Text);
    item.filterText = name;
    item.insertText = letter;
    item.detail = what;
    item.range = new vscode.Range(position.translate(0, -typed.length), position);
    items.push(item);
  };
  const typed = backslashed(before);
  if (typed !== undefined) {
    for (const { name, letter } of named(typed.slice(1))) add(typed, `\\${name}`, letter.letter, letter.what);
    return items;
  }
  const word = headWord(before);
  if (word !== undefined) {
    for (const { letter, spellings, what } of LETTERS) {
      for (const spelling of spellings) if (spelling.startsWith(word)) add(word, spelling, letter, what);
    }
  }
  return items;
}

async function insertLetter(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return;
  const choice = await vscode.window.showQuickPick(
    LETTERS.map(({ letter, names, what }) => ({
      label: letter,
      description: names.map(n => `\\${n}`).join('  '),
      detail: what,
    })),
    { placeHolder: 'A letter', matchOnDescription: true, matchOnDetail: true },
  );
  if (choice === undefined) return;
  await editor.edit(edit => editor.selections.forEach(selection => edit.replace(selection, choice.label)));
}

async function wordsToLetters(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return;
  const document = editor.document;
  const whole = new vscode.Range(document.positionAt(0), document.positionAt(document.getText().length));
  const chosen = editor.selections.filter(selection => !selection.isEmpty);
  await editor.edit(edit => {
    for (const range of chosen.length > 0 ? chosen : [whole]) {
      edit.replace(range, withLetters(document.getText(range)));
    }
  });
}
