import type { ArmCallName } from './arm-calls.js'

/** One request with its answer, in the order of arrival. The second half is filled in while it is worked on. */
export interface ArmRequest {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly call: ArmCallName
  /** The VM it is about, also for its OS disk and its operations. */
  readonly vm: string | null
  /** The size asked for, else the one the VM has. */
  readonly size: string | null
  status: number | null
  answerHeaders: Readonly<Record<string, string>>
  answerBody: unknown
  /** `lost`: the connection was cut instead of an answer. */
  answer: 'pending' | 'sent' | 'lost'
  /** Something is different because of it. */
  effective: boolean
}

type Arrived = Omit<
  ArmRequest,
  'number' | 'at' | 'status' | 'answerHeaders' | 'answerBody' | 'answer' | 'effective'
>

const KEPT = 20_000

/** The last requests and their answers. */
export class ArmLog {
  #requests: ArmRequest[] = []
  #count = 0

  arrived(request: Arrived): ArmRequest {
    this.#count += 1
    const entry: ArmRequest = {
      number: this.#count,
      at: Date.now(),
      ...request,
      status: null,
      answerHeaders: {},
      answerBody: undefined,
      answer: 'pending',
      effective: false,
    }
    this.#requests.push(entry)
    if (this.#requests.length > KEPT) this.#requests.shift()
    return entry
  }

  tookEffect(number: number): void {
    const entry = this.#requests.find((one) => one.number === number)
    if (entry !== undefined) entry.effective = true
  }

  all(): readonly ArmRequest[] {
    return this.#requests
  }

  /** The requests that ask for a change, as `deallocate w-1`. */
  acts(effective = true): string[] {
    return this.#requests
      .filter((request) => request.method !== 'GET' && (!effective || request.effective))
      .map((request) => `${request.call} ${request.vm}`)
  }

  clear(): void {
    this.#requests = []
  }
}
