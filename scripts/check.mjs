// `npm run check`: types, lint, format, layers, dead code and the project's own rules. Everything runs, whatever fails.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, ROOT } from './install.mjs'

ensureInstalled()
const { ownChecks } = await import('./checks/index.mjs')
const { projectFiles } = await import('./checks/files.mjs')

/** @typedef {{ name: string, run: () => Promise<string> }} Check `run` answers with what is wrong: nothing when all is well */

/** @type {Check[]} */
const tools = [
  tool('types', 'tsc', '-p', 'tsconfig.json'),
  tool('types of the core alone', 'tsc', '-p', 'tsconfig.core.json'),
  tool('lint and format', 'biome', 'check', '--error-on-warnings', '--diagnostic-level=warn'),
  tool('layers', 'depcruise', 'src', 'test', 'bench', '--config', '.dependency-cruiser.cjs'),
  tool('dead code', 'knip'),
]
const files = await projectFiles(ROOT)
const own = ownChecks.map(({ name, problems }) => ({
  name,
  run: async () => (await problems(files)).join('\n'),
}))

let failures = 0
for (const { name, run } of [...tools, ...own]) {
  const started = performance.now()
  const wrong = await run()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${wrong ? 'FAILED' : 'ok    '} ${name} (${seconds} s)`)
  if (!wrong) continue
  failures++
  console.log(wrong.replace(/^(?=.)/gm, '  '))
}
process.exitCode = failures > 0 ? 1 : 0

/**
 * @param {string} name
 * @param {string} program
 * @param {string[]} args
 * @returns {Check}
 */
function tool(name, program, ...args) {
  return { name, run: () => outputIfFailed(join('node_modules/.bin', program), args) }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>}
 */
function outputIfFailed(program, args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => (output += chunk))
    }
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => resolve(code === 0 ? '' : output.trim() || `${program} ended with ${code}`))
  })
}
