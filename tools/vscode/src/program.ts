// Where `remc` is.

import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/** What was found, or a sentence that says what is wrong and what helps. */
export type Found = { readonly program: string } | { readonly problem: string };

/** What a setting may say in place of folders. */
export interface Places {
  readonly workspace: string | undefined;
  readonly path: string | undefined;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The program that the setting `remora.path` names. */
export function find(setting: string, places: Places): Found {
  let wanted = setting.trim() || 'remc';
  if (wanted === '~' || wanted.startsWith('~/') || wanted.startsWith('~\\')) wanted = join(homedir(), wanted.slice(1));
  if (wanted.includes('${workspaceFolder}')) {
    if (places.workspace === undefined) {
      return { problem: `remora.path is ${setting}, and no folder is open. Open a folder, or write a whole path.` };
    }
    wanted = wanted.replaceAll('${workspaceFolder}', places.workspace);
  }
  const endings = process.platform === 'win32' ? ['', '.exe'] : [''];
  if (/[/\\]/.test(wanted)) {
    const base = isAbsolute(wanted) ? wanted : join(places.workspace ?? '', wanted);
    const program = endings.map(e => base + e).find(isProgram);
    return program === undefined
      ? { problem: `There is no program ${base}, which the setting remora.path names. Change the setting, or build remc there.` }
      : { program };
  }
  for (const folder of (places.path ?? '').split(delimiter).filter(f => f !== '')) {
    const program = endings.map(e => join(folder, wanted) + e).find(isProgram);
    if (program !== undefined) return { program };
  }
  return {
    problem:
      `The program ${wanted} is in no folder of PATH. Build it with tools/setup of Remora's repository, ` +
      'which makes target/release/remc, and write its path into the setting remora.path.',
  };
}

/** Whether a program has a language server: an older remc does not, and another program of the name need not. */
export function check(program: string): Promise<Found> {
  return new Promise(resolve => {
    execFile(program, ['lsp', '--help'], { timeout: 10_000 }, error => {
      resolve(
        error === null
          ? { program }
          : { problem: `${program} has no language server: \`remc lsp --help\` fails. Is it another program, or an older remc?` },
      );
    });
  });
}
