import { problemsAt } from './files.mjs'

/** @typedef {{ pattern: RegExp, why: string, in: (path: string) => boolean }} Rule */

const isCode = (/** @type {string} */ path) => /\.(ts|mts|cts|mjs|cjs)$/.test(path)
const isThisFile = (/** @type {string} */ path) => path === 'scripts/checks/forbidden.mjs'

/** @type {Rule[]} */
const RULES = [
  {
    pattern: /(?:(?<![\w.$}/-])|(?<=file:\/\/))\/(?:root|home\/[\w.-]+|Users\/[\w.-]+)\//g,
    why: 'a path of one machine',
    in: (path) => !path.startsWith('test/fixtures/') && path !== 'package-lock.json',
  },
  {
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/g,
    why: 'unfinished: do it, or open an issue',
    in: (path) => isCode(path) || path.startsWith('.ci/'),
  },
  {
    pattern: /\b(?:it|test|describe|suite)(?:\.\w+)*\.(?:skip|only|todo|skipIf|runIf)\b/g,
    why: 'a test that does not always run',
    in: isCode,
  },
  {
    pattern: /\bprocess\.exit\(/g,
    why: 'set process.exitCode and return; only src/cli/main.ts may end the process',
    in: (path) => isCode(path) && path !== 'src/cli/main.ts' && !path.startsWith('scripts/'),
  },
  {
    pattern: /\bAbortSignal\.any\(/g,
    why: 'on Node 20 a garbage collection can lose the abort of its sources; src/ports/deadline.ts has what cannot',
    in: isCode,
  },
]

export const name = 'words and paths that do not belong here'

/** @param {import('./files.mjs').ProjectFile[]} files */
export function problems(files) {
  return files
    .filter(({ path }) => !isThisFile(path))
    .flatMap((file) =>
      RULES.filter((rule) => rule.in(file.path)).flatMap(({ pattern, why }) =>
        problemsAt(file, pattern, ([found]) => `${found.trim()}: ${why}`),
      ),
    )
}
