import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fillOnce } from '../../../scripts/cache.mjs'

const { NODEROLL_CACHE, XDG_CACHE_HOME } = process.env
const CACHE = NODEROLL_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'noderoll')

const log = (line: string) => console.log(line)
const run = promisify(execFile)

/** What could not be had, and why: a test that needs it says so instead of running. */
export interface Missing {
  readonly missing: string
}

/** Microsoft's own validator of live traffic, from npm, kept outside the checkout. */
export function installOav(): Promise<string | Missing> {
  return installed('oav 4.0.3 from npm', 'oav-4.0.3', (folder) =>
    run('npm', [
      ...['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'],
      ...['--fetch-retries=0', '--fetch-timeout=20000'],
      'oav@4.0.3',
    ]),
  )
}

/** Microsoft's Python client, a second reader of everything the stand-in answers. */
export function installPythonClient(): Promise<string | Missing> {
  return installed('azure-mgmt-compute 39.0.0 from PyPI', 'azure-mgmt-compute-39.0.0', (folder) =>
    run('python3', [
      ...[
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-input',
        '--retries=0',
        '--timeout=20',
        '--target',
        folder,
      ],
      'azure-mgmt-compute==39.0.0',
    ]),
  )
}

async function installed(
  what: string,
  name: string,
  fill: (folder: string) => Promise<unknown>,
): Promise<string | Missing> {
  try {
    return await fillOnce(join(CACHE, name), async (folder) => void (await fill(folder)), log)
  } catch (error) {
    return { missing: `needs ${what}, which could not be installed: ${String(error).slice(0, 300)}` }
  }
}
