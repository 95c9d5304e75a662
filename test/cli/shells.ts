import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** Seconds that apt-get may take, a lock of somebody else's included. */
const LONGEST = 120

/**
 * Sees to it that a shell is there: on the PATH, or installed now from Debian's package of its name, as root or by a sudo
 * that asks for no password. Throws one sentence that names the command when it cannot be had.
 */
export async function ensureShell(shell: 'zsh' | 'fish'): Promise<void> {
  if (isOnPath(shell)) return
  const install = ['install', '-y', '-q', '--no-install-recommends', shell]
  try {
    // Lists that cannot be brought up to date may still be good enough.
    await aptGet('update', '-q').catch(() => undefined)
    await aptGet(...install)
  } catch (error) {
    const command = `sudo apt-get ${install.join(' ')}`
    throw new Error(
      `the completion of ${shell} is read by ${shell}, which is not installed: run \`${command}\``,
      {
        cause: error,
      },
    )
  }
}

async function aptGet(...args: string[]): Promise<void> {
  const limited = ['timeout', '--kill-after=10', `${LONGEST}`, 'env', 'DEBIAN_FRONTEND=noninteractive']
  const asked = [...limited, 'apt-get', '-o', `DPkg::Lock::Timeout=${LONGEST}`, ...args]
  const [program = '', ...rest] = [...(process.getuid?.() === 0 ? [] : ['sudo', '-n']), ...asked]
  await promisify(execFile)(program, rest)
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
