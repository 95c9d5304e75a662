import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PodPlace } from '../../src/core/self-hosting.js'
import { workflowBundle } from './bundle.js'
import { compiled } from './compiled.js'
import { freeze, thaw } from './freeze.js'
import type { KillPoint } from './kill-point.js'

export interface WorkerProcessSettings {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  /** Where it kills itself. */
  readonly killPoint?: KillPoint
  /** The pod it is to think it runs in. */
  readonly place?: PodPlace
  /** The address of Temporal by which it is to know it. */
  readonly knowsTemporalAs?: string
}

let bundleFile: Promise<string> | undefined

/** A worker in its own process; resolves when it polls. */
export class WorkerProcess {
  private readonly child: ChildProcess

  private constructor(child: ChildProcess) {
    this.child = child
  }

  static async start(settings: WorkerProcessSettings): Promise<WorkerProcess> {
    bundleFile ??= writeBundle()
    const child = fork(await compiled('test/support/worker-main.ts'), {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: {
        ...process.env,
        ADDRESS: settings.address,
        NAMESPACE: settings.namespace,
        TASK_QUEUE: settings.taskQueue,
        KNOWN_AS: settings.knowsTemporalAs ?? settings.address,
        BUNDLE: await bundleFile,
        ...(settings.place === undefined ? {} : { PLACE: JSON.stringify(settings.place) }),
        ...(settings.killPoint === undefined ? {} : { KILL_POINT: JSON.stringify(settings.killPoint) }),
      },
    })
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the worker process ended with ${code} before it was ready`)
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return new WorkerProcess(child)
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Resolves when the process is gone, with the signal that ended it. */
  async exited(): Promise<NodeJS.Signals | null> {
    if (!this.running) return this.child.signalCode
    const [, signal] = (await once(this.child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal
  }

  private get pid(): number {
    if (this.child.pid === undefined) throw new Error('the worker did not start')
    return this.child.pid
  }

  /** At once, as `kill -9`. */
  kill(): void {
    this.child.kill('SIGKILL')
  }

  /** As if its machine hung. */
  pause(): void {
    freeze(this.pid)
  }

  resume(): void {
    thaw(this.pid)
  }

  /** Kills it, frozen or not, and waits until it is gone. */
  async end(): Promise<void> {
    if (!this.running) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await gone
  }
}

async function writeBundle(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'noderoll-bundle-')), 'workflows.js')
  await writeFile(file, (await workflowBundle()).code)
  return file
}
