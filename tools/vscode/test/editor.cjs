// An editor that does what the extension asks of it, and remembers it; and a client that speaks to no server.

const Module = require('node:module');

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
  translate(lines, characters) {
    return new Position(this.line + lines, this.character + characters);
  }
  compareTo(other) {
    return this.line - other.line || this.character - other.character;
  }
}

class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
  get isEmpty() {
    return this.start.compareTo(this.end) === 0;
  }
}

class CompletionItem {
  constructor(label, kind) {
    Object.assign(this, { label, kind });
  }
}

/** A new editor, with the settings of `remora`, and with the extension loaded into it. */
function load(settings) {
  const panels = {};
  const commands = {};
  const messages = [];
  const clients = [];
  const state = { settings, answer: undefined, lenses: [], changed: [], completion: undefined, picked: undefined, opened: [] };
  const panel = name => {
    panels[name] ??= { text: '', shown: 0 };
    return {
      appendLine: line => (panels[name].text += `${line}\n`),
      show: () => panels[name].shown++,
      dispose: () => undefined,
    };
  };
  const vscode = {
    Position,
    Range,
    CompletionItem,
    CompletionItemKind: { Text: 0 },
    commands: {
      registerCommand: (name, f) => {
        if (commands[name] !== undefined) throw new Error(`command ${name} is there already`);
        commands[name] = f;
        return { dispose: () => delete commands[name] };
      },
      executeCommand: async (name, ...args) => {
        if (name === 'vscode.executeCodeLensProvider') return state.lenses;
        if (name === 'workbench.action.openSettings') return state.opened.push(args[0]);
        return commands[name](...args);
      },
    },
    languages: {
      registerCompletionItemProvider: (_, provider) => {
        state.completion = provider.provideCompletionItems;
        return { dispose: () => undefined };
      },
    },
    window: {
      activeTextEditor: undefined,
      createOutputChannel: panel,
      showErrorMessage: async (text, ...choices) => {
        messages.push(text);
        return state.answer?.(choices);
      },
      showInformationMessage: async text => void messages.push(text),
      showQuickPick: async items => items.find(i => i.label === state.picked),
    },
    workspace: {
      workspaceFolders: undefined,
      getConfiguration: () => ({ get: (name, otherwise) => state.settings[name] ?? otherwise }),
      onDidChangeConfiguration: f => {
        state.changed.push(f);
        return { dispose: () => undefined };
      },
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(this, { id, name, server, options, state: 1 });
      clients.push(this);
    }
    async start() {
      if (state.refuses) throw new Error(state.refuses);
      this.state = 2;
      // As the real one does for each command that the server announces.
      this.registered = ['remc.run', 'remc.explainPerformance'].map(name =>
        vscode.commands.registerCommand(name, (...args) =>
          this.options.middleware.executeCommand(name, args, async (command, given) => state.server(command, given)),
        ),
      );
    }
    async dispose() {
      this.state = 1;
      this.registered?.forEach(r => r.dispose());
    }
    async stop() {
      await this.dispose();
    }
  }
  const real = Module._load;
  Module._load = (name, ...rest) => {
    if (name === 'vscode') return vscode;
    if (name === 'vscode-languageclient/node') return { LanguageClient, State: { Stopped: 1, Running: 2, Starting: 3 } };
    return real(name, ...rest);
  };
  for (const file of ['extension', 'letters', 'program', 'text']) delete require.cache[require.resolve(`../out/${file}.js`)];
  const extension = require('../out/extension.js');
  Module._load = real;
  return { extension, vscode, panels, commands, messages, clients, state };
}

/** A text that is open, with the cursor at the end of `before`. */
function document(before, after = '') {
  const text = before + after;
  const lines = before.split('\n');
  const cursor = new Position(lines.length - 1, lines.at(-1).length);
  return {
    cursor,
    languageId: 'remora',
    uri: 'file:///a.remora',
    getText: range => (range === undefined || range.start.line === 0 ? text : ''),
    positionAt: at => new Position(0, at),
    lineAt: position => ({ text: text.split('\n')[position.line] }),
  };
}

module.exports = { load, document, Position, Range };
