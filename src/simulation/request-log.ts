import { Changes } from './changes.js'

/** What a request can ask of the cloud; `other` is what no cloud would understand. */
export const CALL_NAMES = [
  'list',
  'get',
  'offerings',
  'affinityGroups',
  'cluster',
  'stop',
  'start',
  'setOffering',
  'growRootDisk',
  'setAffinityGroups',
  'operation',
  'etcdMembers',
  'etcdHealth',
  'etcdStatus',
  'readyz',
  'moveLeader',
  'other',
] as const

export type CallName = (typeof CALL_NAMES)[number]

/** One request, in the order of arrival. `status`, `effective` and `answer` change while it is worked on. */
export interface LoggedRequest {
  readonly number: number
  /** Arrival, milliseconds since 1970. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly call: CallName
  /** Name and id of the machine it is about. */
  readonly machine: string | null
  readonly machineId: string | null
  readonly offering: string | null
  readonly body: unknown
  /** Header `x-client`: who asks. */
  readonly client: string | null
  /** Null while there is no answer. */
  status: number | null
  /** `lost`: the connection was cut instead of an answer; `none`: never answered. */
  answer: 'pending' | 'sent' | 'lost' | 'none'
  /** True once something is different because of it: a machine really stopped, really has the new size. */
  effective: boolean
}

const READS_KEPT = 2_000
const CHANGES_KEPT = 10_000

/** The last requests. Reads and changing calls are bounded apart, so that polling pushes no act out. */
export class RequestLog {
  readonly changes = new Changes<LoggedRequest>()
  #reads: LoggedRequest[] = []
  #changing: LoggedRequest[] = []
  #count = 0

  arrived(request: Omit<LoggedRequest, 'number' | 'at' | 'status' | 'answer' | 'effective'>): LoggedRequest {
    this.#count += 1
    const entry: LoggedRequest = {
      number: this.#count,
      at: Date.now(),
      ...request,
      status: null,
      answer: 'pending',
      effective: false,
    }
    const [list, kept] = request.method === 'GET' ? [this.#reads, READS_KEPT] : [this.#changing, CHANGES_KEPT]
    list.push(entry)
    if (list.length > kept) list.shift()
    this.changes.tell(entry)
    return entry
  }

  answered(entry: LoggedRequest, answer: 'sent' | 'lost' | 'none', status: number | null): void {
    entry.answer = answer
    entry.status = status
    this.changes.tell(entry)
  }

  tookEffect(entry: LoggedRequest): void {
    entry.effective = true
    this.changes.tell(entry)
  }

  /** Everything kept, in the order of arrival. */
  all(): LoggedRequest[] {
    return [...this.#reads, ...this.#changing].sort((a, b) => a.number - b.number)
  }

  /** The calls that ask for a change of a machine, in the order of arrival. Who leads etcd is none. */
  acts(): LoggedRequest[] {
    return this.#changing.filter(({ call }) => call !== 'moveLeader')
  }

  clear(): void {
    this.#reads = []
    this.#changing = []
  }
}
