// `npm run demo`: on a fresh checkout, alone. Installs, gets the real parts, starts everything, rolls a cluster.
import { spawn } from 'node:child_process'
import { ensureInstalled, ROOT } from './install.mjs'

ensureInstalled()

// Its own process: what it starts ends with it, and a rollout's exit code is the demo's.
const child = spawn(process.execPath, ['--import', 'tsx', 'demo/main.ts', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('error', (error) => {
  console.error(`The demo could not be started: ${error.message}`)
  process.exitCode = 1
})
child.on('close', (code) => {
  process.exitCode = code ?? 1
})
