import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeze, thaw } from './freeze.js'

export interface ProcessSpec {
  name: string
  program: string
  args: string[]
  env?: NodeJS.ProcessEnv
  /** Resolves when the process serves; called again after a restart. */
  ready?: () => Promise<void>
}

/**
 * Reads "watch PID" and "forget PID" lines. When the pipe closes without a "done", the test runner has died, in
 * whatever way: everything still watched is killed and the folder goes.
 */
const WATCHDOG = `
folder=$1 pids=
while read -r verb pid; do
  case $verb in
    watch) pids="$pids $pid" ;;
    forget) kept=; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept $p"; done; pids=$kept ;;
    done) exit 0 ;;
  esac
done
for pid in $pids; do kill -KILL "-$pid"; done
sleep 0.3
rm -rf "$folder"
`

/** A temporary folder and the programs that run in it. None of them outlives this process. */
export class ProcessGroup {
  readonly folder: string
  readonly #processes = new Set<ManagedProcess>()
  readonly #watchdog: ChildProcess

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `noderoll-${name}-`))
    this.#watchdog = spawn('sh', ['-c', WATCHDOG, 'noderoll-watchdog', this.folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#watchdog.unref()
    this.#watchdog.stdin?.on('error', () => undefined)
  }

  /** Starts a program and waits until it is ready. */
  async start(spec: ProcessSpec): Promise<ManagedProcess> {
    const started = new ManagedProcess(spec, join(this.folder, `${spec.name}.log`), (line) =>
      this.#watchdog.stdin?.write(`${line}\n`),
    )
    this.#processes.add(started)
    await started.start()
    return started
  }

  /** Kills everything. With `keepFolder` the logs stay where they are. */
  async stop(options: { keepFolder?: boolean } = {}): Promise<void> {
    await Promise.all([...this.#processes].map((one) => one.kill()))
    this.#processes.clear()
    if (this.#watchdog.exitCode === null) {
      this.#watchdog.ref()
      const gone = once(this.#watchdog, 'exit')
      this.#watchdog.stdin?.end('done\n')
      await gone
    }
    if (!options.keepFolder) await rm(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** One program in a process group of its own, with its output in a log file. */
export class ManagedProcess {
  readonly name: string
  readonly logFile: string
  readonly #spec: ProcessSpec
  readonly #tellWatchdog: (line: string) => void
  #child: ChildProcess | undefined
  #gone: Promise<unknown> = Promise.resolve()

  constructor(spec: ProcessSpec, logFile: string, tellWatchdog: (line: string) => void) {
    this.name = spec.name
    this.logFile = logFile
    this.#spec = spec
    this.#tellWatchdog = tellWatchdog
  }

  get running(): boolean {
    return this.#child?.pid !== undefined
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.name} is not running`)
    return this.#child.pid
  }

  async start(): Promise<void> {
    if (this.#child) throw new Error(`${this.name} is running already`)
    const log = openSync(this.logFile, 'a')
    const { program, args, env, ready } = this.#spec
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: env ?? process.env,
    })
    closeSync(log)
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`))
    })
    this.#child = child
    this.#gone = ended
    const { pid } = child
    if (pid !== undefined) {
      this.#tellWatchdog(`watch ${pid}`)
      void ended.then(() => this.#tellWatchdog(`forget ${pid}`))
    }
    void ended.then(() => {
      if (this.#child === child) this.#child = undefined
    })
    child.unref()
    if (!ready) return
    const problem = await Promise.race([ready().then(() => undefined, String), ended])
    if (problem === undefined) return
    const said = (await readFile(this.logFile, 'utf8')).trim().split('\n').slice(-10).join('\n')
    await this.kill()
    throw new Error(`${this.name} does not start: ${problem}\n${said}`)
  }

  /** Stops the process as if its machine hung: connections stay open and nothing answers. */
  pause(): void {
    freeze(this.pid)
  }

  resume(): void {
    thaw(this.pid)
  }

  async kill(): Promise<void> {
    if (this.#child?.pid === undefined) return
    this.#child.ref()
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await this.#gone
  }

  /** Kills it if it still runs, starts it again with the same arguments, and waits until it is ready. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }
}
