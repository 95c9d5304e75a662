// Brings node_modules up to date, so that every command works on a fresh checkout. Node's own modules only.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const OLDEST_NODE = '20.19'

/** Ends the process with one sentence where nothing can be installed or run. */
export function ensureInstalled() {
  if (isOlder(process.versions.node, OLDEST_NODE)) {
    refuse(`noderoll needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}.`)
  }
  const stale = staleBecause(lockfile('package-lock.json'), lockfile('node_modules/.package-lock.json'))
  if (stale === null) return
  console.log(`Installing packages with npm ci: ${stale}`)
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  if (npm.status === 0) return
  // What is wrong stands at the top; npm's usage follows.
  console.error(npm.error?.message ?? npm.stderr.split('\n').slice(0, 12).join('\n'))
  refuse('npm ci failed; nothing was run.')
}

/**
 * @typedef {Record<string, { version?: string, integrity?: string, optional?: boolean }>} Packages
 * @param {Packages | null} wanted
 * @param {Packages | null} installed what npm wrote down when its last installation was complete
 * @returns {string | null}
 */
function staleBecause(wanted, installed) {
  if (wanted === null) return 'package-lock.json cannot be read'
  if (installed === null) return 'node_modules is missing or incomplete'
  for (const [path, { version, integrity, optional }] of Object.entries(wanted)) {
    const found = installed[path]
    // The package itself has the empty path; binaries of other platforms are optional and never installed.
    if (path === '' || (!found && optional)) continue
    if (found?.version === version && found?.integrity === integrity) continue
    return `${path} is ${found?.version ?? 'missing'}, package-lock.json says ${version}`
  }
  return null
}

/**
 * @param {string} path
 * @returns {Packages | null}
 */
function lockfile(path) {
  try {
    return JSON.parse(readFileSync(join(ROOT, path), 'utf8')).packages
  } catch {
    return null
  }
}

/**
 * @param {string} version
 * @param {string} oldest
 */
function isOlder(version, oldest) {
  return version.localeCompare(oldest, 'en', { numeric: true }) < 0
}

/** @param {string} sentence */
function refuse(sentence) {
  console.error(sentence)
  process.exit(1)
}
