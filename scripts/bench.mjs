// `npm run bench -- <name>`: prints one figure a line as JSON. A benchmark is a program, not a timed test.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, ROOT } from './install.mjs'

const names = readdirSync(join(ROOT, 'bench'))
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''))
const [name, ...args] = process.argv.slice(2)
if (name === undefined || !names.includes(name)) {
  console.error(`Name a benchmark: npm run bench -- ${names.join(' | ')}`)
  process.exitCode = 2
} else {
  ensureInstalled()
  const child = spawn(process.execPath, ['--import', 'tsx', `bench/${name}.bench.ts`, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  // An interrupt reaches the bench by itself; it tears its servers down, and only then do we end.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('close', (code) => {
    process.exitCode = code ?? 1
  })
}
