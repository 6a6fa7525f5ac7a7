// What a command of the server gives, as text.

/** Text as it is; of an object its text or message; whatever else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value.trimEnd();
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') {
    for (const key of ['text', 'value', 'message']) {
      const part: unknown = (value as Record<string, unknown>)[key];
      if (typeof part === 'string') return part.trimEnd();
    }
  }
  return JSON.stringify(value, null, 2);
}

/** The line above a value: a comment that says of what it is. An expression's name is made up, and says nothing. */
export function heading(isRun: boolean, name: unknown): string {
  const of = typeof name === 'string' && !name.startsWith('#') ? name : 'the expression';
  return isRun ? `; ${of}` : `; the performance of ${of}`;
}
