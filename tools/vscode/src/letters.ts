// The letters of the language that no keyboard has, and what is written for them.

/** A letter, the keywords that mean the same, and the names by which it is found after a backslash. */
export interface Letter {
  readonly letter: string;
  /** Other spellings of the keyword, as compiler/syntax/src/forms.rs has them. */
  readonly spellings: readonly string[];
  readonly names: readonly string[];
  readonly what: string;
}

export const LETTERS: readonly Letter[] = [
  { letter: 'λ', spellings: ['fn', 'lambda'], names: ['lambda', 'fn'], what: 'a function: (λ (x) e)' },
  { letter: 'Tλ', spellings: ['t-fn'], names: ['Tlambda', 't-fn'], what: 'a function of types: (Tλ (t) e)' },
  { letter: 'Iλ', spellings: ['i-fn'], names: ['Ilambda', 'i-fn'], what: 'a function of indices: (Iλ (n) e)' },
  { letter: '→', spellings: ['->'], names: ['to', 'rightarrow', 'arrow', '->'], what: 'the type of functions: (→ (int) int)' },
  { letter: '∀', spellings: ['Forall'], names: ['forall', 'Forall'], what: 'for all types: (∀ (t) τ)' },
  { letter: 'Π', spellings: ['Pi'], names: ['Pi', 'prod'], what: 'for all indices: (Π (n) τ)' },
  { letter: 'Σ', spellings: ['Sigma'], names: ['Sigma', 'sum'], what: 'a box, for some indices: (Σ (n) τ)' },
  { letter: '⇒', spellings: [], names: ['Rightarrow', '=>', 'gives'], what: 'in a comment, the value of the form before' },
  { letter: 'τ', spellings: [], names: ['tau'], what: 'a letter for a name' },
];

/** What stands after a backslash, and the letter that it becomes. */
export function named(prefix: string): { name: string; letter: Letter }[] {
  const found = [];
  for (const letter of LETTERS) {
    for (const name of letter.names) {
      if (name.startsWith(prefix)) found.push({ name, letter });
    }
  }
  return found;
}

/** The backslash and what follows it, at the end of what is before the cursor. */
export function backslashed(before: string): string | undefined {
  return /\\[^\s()[\]{}";,|\\]*$/.exec(before)?.[0];
}

/** The word before the cursor, where it may be a keyword: directly after a bracket. */
export function headWord(before: string): string | undefined {
  return /[([]([^\s()[\]{}";,|\\]+)$/.exec(before)?.[1];
}

/**
 * The text with its keywords as letters. Strings, characters and comments stay as they are, and so do names that merely
 * contain a keyword, and keywords that are not at the head of a form, where they are names or nothing.
 */
export function withLetters(text: string): string {
  let out = '';
  let at = 0;
  let head = false;
  const token =
    /#\|[^]*?\|#|;[^\n]*|"(?:\\[^]|[^"\\])*"|#\\(?:[()[\]{}";,|]|[^\s()[\]{}";,|]+)|[([]|[^\s()[\]{}";,|]+|[^]/g;
  while (at < text.length) {
    if (text.startsWith('#|', at)) {
      const end = blockEnd(text, at);
      out += text.slice(at, end);
      at = end;
      continue;
    }
    token.lastIndex = at;
    const found = token.exec(text)?.[0] ?? '';
    const letter = head ? LETTERS.find(l => l.spellings.includes(found)) : undefined;
    out += letter?.letter ?? found;
    if (found === '(') head = true;
    else if (!/^\s$/.test(found) && !found.startsWith(';')) head = false;
    at += found.length;
  }
  return out;
}

/** Where a block comment ends; they nest. */
function blockEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    if (text.startsWith('#|', at)) {
      depth++;
      at += 2;
    } else if (text.startsWith('|#', at)) {
      depth--;
      at += 2;
      if (depth === 0) return at;
    } else {
      at++;
    }
  }
  return at;
}
