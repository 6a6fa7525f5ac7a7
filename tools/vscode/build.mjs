// Makes remora.vsix out of what is installed: no network is used.

import { copyFileSync } from 'node:fs';
import { createVSIX } from '@vscode/vsce';

copyFileSync('../../LICENSE-MIT', 'LICENSE.txt');
await createVSIX({ packagePath: process.argv[2] ?? 'remora.vsix', allowMissingRepository: true });
