import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ensureControlPlane } from '../../scripts/control-plane.mjs'
import type { KubeApi } from './kube-api.js'
import { freePort } from './ports.js'
import { ProcessGroup } from './processes.js'
import type { StackedControlPlane } from './stacked-control-plane.js'
import { waitUntil } from './wait.js'

interface Status {
  readonly header: { readonly member_id: string }
  readonly leader?: string
}

/** Does the member of this number (1 is the first) lead? It says so itself; one that does not answer leads nobody. */
export async function isLeading(kube: StackedControlPlane, number: number): Promise<boolean> {
  const url = kube.access.etcdUrls?.[number - 1]
  if (url === undefined) throw new Error(`there is no member ${number}`)
  if (!kube.members[number - 1]?.running) return false
  const { header, leader } = await etcdCall<Status>(url, 'maintenance/status', {})
  return header.member_id === leader
}

/** Moves the leadership to the member of this number. */
export async function makeLead(kube: StackedControlPlane, number: number): Promise<void> {
  await waitUntil(
    async () => {
      await handOver(kube, number)
      return isLeading(kube, number)
    },
    { for: `member ${number} to lead` },
  )
}

async function handOver(kube: StackedControlPlane, number: number): Promise<void> {
  const urls = kube.access.etcdUrls ?? []
  const status = (url: string) => etcdCall<Status>(url, 'maintenance/status', {})
  const heir = await status(urls[number - 1] ?? '')
  if (heir.leader === heir.header.member_id) return
  const all = await Promise.all(urls.map(async (url) => ({ url, ...(await status(url)) })))
  const leading = all.find(({ header, leader }) => header.member_id === leader)
  if (leading === undefined) throw new Error('no member leads')
  await etcdCall(leading.url, 'maintenance/transfer-leadership', { targetID: heir.header.member_id })
}

/** So many log entries, through the member of this number, which leads. */
export async function writeEntries(kube: StackedControlPlane, number: number, count: number): Promise<void> {
  const url = kube.access.etcdUrls?.[number - 1] ?? ''
  const put = { key: Buffer.from('noderoll.test').toString('base64'), value: '' }
  const AT_ONCE = 25
  for (let written = 0; written < count; written += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => etcdCall(url, 'kv/put', put)))
}

/** A call of etcd's HTTP gateway, without TLS. */
async function etcdCall<T>(url: string, path: string, body: object): Promise<T> {
  const answer = await fetch(`${url}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

const PATH = '/api/v1/namespaces/default/configmaps'
const MINE = 'noderoll.test/writing-client=1'
const BETWEEN_WRITES_MS = 50

/**
 * Somebody who writes to the API all the time, through whichever API server takes it, and remembers what was acknowledged.
 */
export class WritingClient {
  /** Names of the objects whose creation was answered with 201, in order. */
  readonly acknowledged: string[] = []
  readonly #apis: readonly KubeApi[]
  readonly #stopped = new AbortController()
  readonly #ended: Promise<void>

  constructor(kube: StackedControlPlane) {
    this.#apis = kube.access.urls.map((url) => kube.apiOf('admin', url))
    this.#ended = this.#write()
  }

  /** No more writes; what was acknowledged. */
  async stop(): Promise<readonly string[]> {
    this.#stopped.abort()
    await this.#ended
    return this.acknowledged
  }

  /** Those that no API server has any more. Removes what it has written, and cannot be used again. */
  async missing(names: readonly string[]): Promise<string[]> {
    const [api] = this.#apis
    if (api === undefined) throw new Error('no API server')
    const path = `${PATH}?labelSelector=${encodeURIComponent(MINE)}`
    const there = new Set((await api.list(path)).map(({ metadata }) => metadata.name))
    await api.ok('DELETE', path)
    for (const one of this.#apis) one.close()
    return names.filter((name) => !there.has(name))
  }

  async #write(): Promise<void> {
    const [key = '', value] = MINE.split('=')
    for (let number = 1; !this.#stopped.signal.aborted; number++) {
      // One that has no answer may have been written: no name is used twice.
      const name = `written-${number}`
      const object = { metadata: { name, labels: { [key]: value } }, data: { number: String(number) } }
      if (await this.#isAcknowledged(this.#apis[number % this.#apis.length], object))
        this.acknowledged.push(name)
      await pause(BETWEEN_WRITES_MS)
    }
  }

  async #isAcknowledged(api: KubeApi | undefined, object: object): Promise<boolean> {
    try {
      const answer = await api?.call('POST', PATH, object, { signal: AbortSignal.timeout(3_000) })
      return answer?.status === 201
    } catch {
      // Its machine is down.
      return false
    }
  }
}

/** A fourth member that follows and does not vote, on the machine `c-4`. */
export class RealLearner {
  readonly #processes: ProcessGroup
  readonly #first: string
  readonly #url: string
  readonly #id: string

  private constructor(processes: ProcessGroup, first: string, url: string, id: string) {
    this.#processes = processes
    this.#first = first
    this.#url = url
    this.#id = id
  }

  static async join(kube: StackedControlPlane): Promise<RealLearner> {
    const { dir } = await ensureControlPlane()
    const [first = ''] = kube.access.etcdUrls ?? []
    const peer = `http://127.0.0.1:${await freePort()}`
    const url = `http://127.0.0.1:${await freePort()}`
    // etcd changes its membership only when all members have been in touch for some seconds.
    const { member, members } = await waitUntil(
      () =>
        etcdCall<{ member: { ID: string }; members: { name?: string; peerURLs: string[] }[] }>(
          first,
          'cluster/member/add',
          { peerURLs: [peer], isLearner: true },
        ),
      { for: 'etcd to take a learner' },
    )
    const name = 'etcd-4'
    const cluster = members.map((one) => `${one.name ?? name}=${one.peerURLs[0]}`).join(',')
    const processes = new ProcessGroup('learner')
    await processes.start({
      name,
      program: join(dir, 'etcd'),
      args: [
        ...['--name', name, '--data-dir', join(processes.folder, `${name}.data`), '--unsafe-no-fsync'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', cluster, '--initial-cluster-state', 'existing', '--log-level', 'warn'],
        ...['--heartbeat-interval', '300', '--election-timeout', '3000'],
      ],
      ready: async () => {
        await waitUntil(() => etcdCall(url, 'maintenance/status', {}), { for: 'the learner to answer' })
      },
    })
    return new RealLearner(processes, first, url, member.ID)
  }

  /** The members of a spec and this one. */
  inAccess<T extends { members: string[] }>(access: T): T {
    return { ...access, members: [...access.members, `c-4=${this.#url}`] }
  }

  /** It votes, as soon as it has caught up. */
  async promote(): Promise<void> {
    await waitUntil(() => etcdCall(this.#first, 'cluster/member/promote', { ID: this.#id }), {
      for: 'the learner to be promoted',
    })
  }

  async leave(): Promise<void> {
    await waitUntil(() => etcdCall(this.#first, 'cluster/member/remove', { ID: this.#id }), {
      for: 'the fourth member to leave',
    })
    await this.#processes.stop()
  }
}
