import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/ports.js'
import { waitUntil } from '../test/support/wait.js'

/** Of Linux, a second. */
const CLOCK_TICKS = 100
const COMMAND = ['dist/cli/main.js', 'worker']

/** `noderoll worker` as it is shipped, compiled and in a process of its own, whose memory can be looked at. */
export class MeasuredWorker {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
    // A benchmark that fails leaves no worker behind.
    process.once('exit', () => child.kill('SIGKILL'))
  }

  /** `folder` keeps the bundle: an image has it, too, and webpack's memory is none of a worker's. */
  static async start(address: string, taskQueue: string, folder: string): Promise<MeasuredWorker> {
    const bundle = join(folder, 'workflows.js')
    const port = await freePort()
    if (!existsSync(bundle)) {
      execFileSync('npm', ['run', '--silent', 'build'])
      execFileSync(process.execPath, [...COMMAND, '--write-bundle', bundle])
    }
    const child = spawn(process.execPath, [...COMMAND, '--task-queue', taskQueue], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        TEMPORAL_ADDRESS: address,
        NODEROLL_WORKFLOW_BUNDLE: bundle,
        NODEROLL_HEALTH_PORT: String(port),
      },
    })
    let said = ''
    child.stderr?.on('data', (chunk) => {
      said = (said + chunk).slice(-2_000)
    })
    const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200
    try {
      await waitUntil(isReady, { for: 'the worker to be ready', timeoutMs: 120_000 })
    } catch (error) {
      throw new Error(said, { cause: error })
    }
    return new MeasuredWorker(child)
  }

  /** The most it has had in memory so far, in MB. Linux only. */
  peakMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  }

  /** Time on a processor so far: what is left of a wall time when the machine is busy with other things. Linux only. */
  cpuSeconds(): number {
    const [user, system] = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(' ').slice(13, 15)
    return (Number(user) + Number(system)) / CLOCK_TICKS
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await gone
  }
}
