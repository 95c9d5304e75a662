import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { ensureControlPlane } from '../../scripts/control-plane.mjs'
import { type CompiledAccess, compile } from './compile.js'
import { type ControlPlane, startControlPlane } from './control-plane.js'
import { onlyEmbedded } from './embedded-control-plane.js'
import { type BundleAccess, makeBundle } from './make-bundle.js'
import type { ManagedProcess } from './processes.js'
import { SLOTS, type SlotAccess } from './slots.js'
import { startTemporal, type TemporalAccess, type TemporalServer } from './temporal.js'

/**
 * Vitest's global setup: holds the real parts, which start when the first test file asks for them, so that a run
 * without such a file starts nothing. `NODEROLL_TEST_PARTS=none` gives none, `NODEROLL_KUBERNETES=embedded` builds none.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env.NODEROLL_TEST_PARTS === 'none') {
    project.provide('testBed', undefined)
    return undefined
  }
  // Programs in Go collect their garbage a fifth as often: tests have few processors and much memory.
  process.env.GOGC ??= '500'
  // Minutes, the first time: too long for the time limit of a hook.
  if (!onlyEmbedded()) await ensureControlPlane()
  const parts = new Parts()
  const secret = randomUUID()
  const server = createServer((incoming, outgoing) => {
    const [, given, ...words] = (incoming.url ?? '').split('/')
    const asked = given === secret ? parts.ask(words) : Promise.reject(new Error('who is asking?'))
    asked.then(
      (answer) => outgoing.end(JSON.stringify(answer)),
      (error: unknown) => outgoing.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
    )
  })
  // A connection that was closed while a test was slow would be asked once more.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  project.provide('testBed', `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`)
  return async () => {
    server.close()
    server.closeAllConnections()
    await parts.stop()
  }
}

type Answer = SlotAccess | TemporalAccess | BundleAccess | CompiledAccess

class Parts {
  #temporal: Promise<TemporalServer> | undefined
  readonly #controlPlanes = new Map<string, Promise<ControlPlane>>()
  #bundle: Promise<BundleAccess> | undefined
  #compiled: Promise<CompiledAccess> | undefined

  /** `workflow-bundle`, `compiled`, `temporal`, `control-plane/1`, `control-plane/1/kube-apiserver/restart`. */
  async ask([part, slot = '1', name, action]: string[]): Promise<Answer> {
    if (part === 'compiled') {
      this.#compiled ??= compile()
      return this.#compiled
    }
    if (part === 'workflow-bundle') {
      this.#bundle ??= writtenBundle()
      return this.#bundle
    }
    if (part === 'temporal') {
      const { address, uiUrl, cli } = await this.#startedTemporal()
      return { address, uiUrl, cli }
    }
    const controlPlane = await this.#startedControlPlane(slot)
    const processes = processesOf(controlPlane)
    if (name === undefined) {
      await Promise.all(processes.map(repair))
    } else {
      const wanted = processes.find((one) => one.name === name)
      if (!wanted) throw new Error(`no process ${name}`)
      if (action === 'kill') await wanted.kill()
      else if (action === 'restart') await wanted.restart()
      else throw new Error(`no action ${action}`)
    }
    return {
      access: controlPlane.access,
      processes: processes.map((one) => ({ name: one.name, pid: one.running ? one.pid : undefined })),
    }
  }

  async stop(): Promise<void> {
    const keepLogs = process.env.NODEROLL_TEST_KEEP_LOGS === '1'
    const stopped = [this.#temporal, ...this.#controlPlanes.values()].map(async (starting) => {
      // What failed to start has said so to whoever asked for it.
      const part = await starting?.catch(() => undefined)
      await part?.stop({ keepLogs })
      if (part && 'access' in part && keepLogs) console.log(`logs are kept in ${part.access.folder}`)
    })
    const bundle = await this.#bundle?.catch(() => undefined)
    const compiled = await this.#compiled?.catch(() => undefined)
    if (bundle !== undefined) await rm(dirname(bundle.file), { recursive: true, force: true })
    if (compiled !== undefined) await rm(compiled.folder, { recursive: true, force: true })
    await Promise.all(stopped)
  }

  #startedTemporal(): Promise<TemporalServer> {
    this.#temporal ??= startTemporal({
      namespaces: Array.from({ length: SLOTS }, (_, index) => `slot-${index + 1}`),
      ui: true,
    })
    return this.#temporal
  }

  #startedControlPlane(slot: string): Promise<ControlPlane> {
    let starting = this.#controlPlanes.get(slot)
    if (!starting) {
      starting = startControlPlane({
        name: `slot-${slot}`,
        users: ['noderoll', { name: 'kubelet', groups: ['system:masters', 'system:nodes'] }],
      })
      this.#controlPlanes.set(slot, starting)
    }
    return starting
  }
}

async function writtenBundle(): Promise<BundleAccess> {
  const file = join(await mkdtemp(join(tmpdir(), 'noderoll-bundle-')), 'workflow-bundle.json')
  await writeFile(file, JSON.stringify(await makeBundle()))
  return { file }
}

function processesOf({ etcd, apiServers, controllerManager, scheduler }: ControlPlane): ManagedProcess[] {
  return [...etcd, ...apiServers, controllerManager, scheduler].filter((one) => one !== undefined)
}

/** What the test file before has paused or killed and not brought back. */
async function repair(one: ManagedProcess): Promise<void> {
  if (one.running) one.resume()
  else await one.start()
}
