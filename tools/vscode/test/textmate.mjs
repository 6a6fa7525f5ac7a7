// The TextMate grammar, as VS Code applies it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import textmate from 'vscode-textmate';
import oniguruma from 'vscode-oniguruma';

const require = createRequire(import.meta.url);
const folder = new URL('..', import.meta.url);
const wasm = readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));

const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: patterns => new oniguruma.OnigScanner(patterns),
    createOnigString: text => new oniguruma.OnigString(text),
  }),
  loadGrammar: async scope => {
    if (scope !== 'source.remora') return null;
    const file = 'syntaxes/remora.tmLanguage.json';
    return textmate.parseRawGrammar(readFileSync(new URL(file, folder), 'utf8'), file);
  },
});
const grammar = await registry.loadGrammar('source.remora');

/** The tokens of a text: of each its line and columns, its text, and its scopes without the language's own. */
export function tokens(text) {
  const found = [];
  let stack = textmate.INITIAL;
  for (const [row, line] of text.split('\n').entries()) {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    for (const { startIndex, endIndex, scopes } of result.tokens) {
      const end = Math.min(endIndex, line.length);
      if (startIndex >= end) continue;
      found.push({ row, start: startIndex, end, text: line.slice(startIndex, end), scopes: scopes.slice(1) });
    }
  }
  return found;
}
