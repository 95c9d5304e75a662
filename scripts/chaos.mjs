// `npm run test:chaos -- --runs N --seed S`: the long form of the chaos test. Ten runs cover every kill point once.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { ensureInstalled, ROOT } from './install.mjs'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10' }, seed: { type: 'string' } },
})
ensureInstalled()
const child = spawn(process.execPath, ['scripts/test.mjs', 'test/chaos'], {
  cwd: ROOT,
  stdio: 'inherit',
  env: {
    ...process.env,
    NODEROLL_CHAOS_RUNS: values.runs,
    ...(values.seed === undefined ? {} : { NODEROLL_CHAOS_SEED: values.seed }),
  },
})
// An interrupt reaches the test by itself; it tears its servers down, and only then do we end.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('close', (code) => {
  process.exitCode = code ?? 1
})
