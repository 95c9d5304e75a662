// A browser for the test of the Web UI: Debian's package, never a download of its own. `node scripts/chromium.mjs` prints its path.
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable, run } from './cache.mjs'

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
const INSTALL = ['install', '-y', '-q', '--no-install-recommends', 'chromium']
/** Seconds. A lock that somebody else holds on the package lists is waited for as long. */
const LONGEST_UPDATE = 120
const LONGEST_INSTALL = 300

/**
 * `NODEROLL_CHROMIUM`, else a Chromium on the PATH, else the package `chromium`, installed now as root or by a sudo that
 * asks for no password. Ends within its limits, or throws one sentence that names the package and the command.
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<string>} the path of the program
 */
export async function ensureChromium({ log = console.error } = {}) {
  const { NODEROLL_CHROMIUM } = process.env
  if (NODEROLL_CHROMIUM) {
    if (isExecutable(NODEROLL_CHROMIUM)) return NODEROLL_CHROMIUM
    throw new Error(`NODEROLL_CHROMIUM names ${NODEROLL_CHROMIUM}, which is not a program`)
  }
  const there = onPath()
  if (there) return there
  log('installing the package chromium')
  let said = ''
  try {
    // Lists that cannot be brought up to date may still be good enough.
    await aptGet(LONGEST_UPDATE, ['update', '-q']).catch(() => undefined)
    await aptGet(LONGEST_INSTALL, INSTALL)
  } catch (error) {
    said = ` (${error instanceof Error ? error.message : error})`
  }
  const installed = onPath()
  if (installed) return installed
  throw new Error(
    `the Web UI is tested in Chromium, which is not installed: run \`sudo apt-get ${INSTALL.join(' ')}\`, ` +
      `or name a Chromium in NODEROLL_CHROMIUM${said}`,
  )
}

/**
 * @param {number} seconds
 * @param {string[]} args
 */
async function aptGet(seconds, args) {
  // Killed together with what it has started: whoever waits only for apt-get would wait for its children for ever.
  const limited = ['timeout', '--kill-after=10', `${seconds}`]
  const asked = [
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-o',
    `DPkg::Lock::Timeout=${seconds}`,
    ...args,
  ]
  const [program = '', ...rest] = [...(process.getuid?.() === 0 ? [] : ['sudo', '-n']), ...limited, ...asked]
  await run(program, rest)
}

function onPath() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(await ensureChromium())
}
