// `npm test`: everything, with whatever vitest is given after `--`. The last line is the count, alone.
// `npm test -- --node current`: the part that also runs on the newest Node, unless files are named.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { ensureCurrentNode } from './current-node.mjs'
import { ensureInstalled, ROOT } from './install.mjs'

/**
 * Every decision, what loads and runs a worker (the native part of Temporal's SDK included), and rollouts.
 * On the embedded Kubernetes: the real one is the same on every Node.
 */
const ON_CURRENT_NODE = [
  ...['test/core/', 'test/spec/', 'test/worker/', 'test/workflows/'],
  'test/rollout/success.test.ts',
]

ensureInstalled()

const folder = await mkdtemp(join(tmpdir(), 'noderoll-test-'))
const report = join(folder, 'report.json')
try {
  const [option, name, ...files] = process.argv.slice(2)
  const onCurrentNode = option === '--node' && name === 'current'
  const code = onCurrentNode
    ? await vitest(await ensureCurrentNode(), files.length > 0 ? files : ON_CURRENT_NODE, {
        NODEROLL_KUBERNETES: 'embedded',
      })
    : await vitest(process.execPath, process.argv.slice(2))
  const text = await readFile(report, 'utf8').catch(() => null)
  const { passed, failed, skipped } = counts(text, code)
  // Once more at the very end: of thousands of lines a log often keeps only the last.
  for (const line of text === null ? [] : failures(text)) console.log(line)
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 ? 1 : 0
} finally {
  await rm(folder, { recursive: true, force: true })
}

/**
 * @param {string} node
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>}
 */
function vitest(node, args, env) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const program = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const child = spawn(node, [program, 'run', ...reporters, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  // An interrupt reaches vitest by itself: it tears its servers down, and only then do we count.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => resolve(status ?? 1))
  })
}

/**
 * A line for each test that failed, and for each file that did not get that far: its name, and how its message begins.
 * @param {string} text
 */
function failures(text) {
  /** @type {{ testResults: { name: string, status: string, message: string,
   *   assertionResults: { status: string, fullName: string, failureMessages: string[] }[] }[] }} */
  const { testResults } = JSON.parse(text)
  return testResults.flatMap((file) => {
    const path = relative(ROOT, file.name)
    const tests = file.assertionResults.filter(({ status }) => status === 'failed')
    if (file.status === 'failed' && tests.length === 0) return [`FAILED ${path}: ${beginning(file.message)}`]
    return tests.map(
      (test) => `FAILED ${path}: ${test.fullName}: ${beginning(test.failureMessages.join(' '))}`,
    )
  })
}

/** @param {string} message */
function beginning(message) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
  const plain = message.replaceAll(/\u001b\[[0-9;]*m/g, '').replaceAll(/\s+/g, ' ')
  return plain.split(/ at (?:file:|\/)/)[0]?.slice(0, 300) ?? ''
}

/**
 * A run that went wrong outside any test (a file that does not load, an error nobody caught, no report at all) must
 * never look like a passed one: it counts as one failure.
 * @param {string | null} text
 * @param {number} code
 */
function counts(text, code) {
  if (text === null) return { passed: 0, failed: 1, skipped: 0 }
  /** @type {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests: number,
   *   testResults: { status: string, assertionResults: { status: string }[] }[] }} */
  const json = JSON.parse(text)
  const broken = json.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((assertion) => assertion.status === 'failed'),
  )
  const failed = json.numFailedTests + broken.length
  return {
    passed: json.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: json.numPendingTests + json.numTodoTests,
  }
}
