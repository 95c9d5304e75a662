import { condition, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import type { NodeJob, PlanReport } from '../api/activities.js'
import {
  cancelSignal,
  pauseSignal,
  planQuery,
  progressQuery,
  resumeSignal,
  SEARCH_ATTRIBUTES,
  type SetMaxUnavailable,
  setMaxUnavailableUpdate,
  waitingSignal,
} from '../api/messages.js'
import { type Batch, batchNodeName, type PoolCounts, type Position, START_POSITION } from '../core/batch.js'
import type { FleetView } from '../core/next-batch.js'
import {
  bounded,
  expectedEnd,
  MOST_NAMES,
  type NodeProgress,
  type Phase,
  type Progress,
  progressMarkdown,
  type Step,
  skippedIn,
} from '../core/progress.js'
import { maxUnavailableOf, mustBeMaxUnavailable } from './max-unavailable.js'

/** What goes from run to run at continue-as-new. Small: names and counts. */
export interface Carried {
  readonly paused: boolean
  readonly cancel: CancelState
  readonly position: Position
  readonly batchNumber: number
  readonly done: { readonly count: number; readonly names: readonly string[] }
  readonly warnings: readonly string[]
  readonly view: FleetView
  readonly plan: PlanReport | null
  readonly startedAtMs: number
  /** How long it has stood still for `pause`. Absent from a run of before. */
  readonly pausedMs?: number
}

interface CancelState {
  readonly kind: 'no' | 'betweenBatches' | 'now'
  readonly by: string | null
  readonly at: string | null
}

const NO_VIEW: FleetView = { counts: [], skipped: [], notes: [] }

/** What operators say to a rollout, and what it says to them. All handlers are there before the first await. */
export class Control {
  paused: boolean
  cancel: CancelState
  position: Position
  batchNumber: number
  warnings: string[]
  view: FleetView
  plan: PlanReport | null
  lastError: string | null = null
  readonly startedAtMs: number
  private pausedMs: number
  private doneCount: number
  private doneNames: string[]
  private phase: Phase = 'starting'
  private batch: Batch | null = null
  private nodes = new Map<string, NodeProgress>()
  private waitsFor: readonly string[] = []
  private readonly cluster: () => string
  private searchAttributes = false
  private shownPhase: Phase | null = null
  private turn: Promise<unknown> = Promise.resolve()

  constructor(cluster: () => string, carried: Carried | null) {
    this.cluster = cluster
    this.paused = carried?.paused ?? false
    this.cancel = carried?.cancel ?? { kind: 'no', by: null, at: null }
    this.position = carried?.position ?? START_POSITION
    this.batchNumber = carried?.batchNumber ?? 0
    this.doneCount = carried?.done.count ?? 0
    this.doneNames = [...(carried?.done.names ?? [])]
    this.warnings = [...(carried?.warnings ?? [])]
    this.view = carried?.view ?? NO_VIEW
    this.plan = carried?.plan ?? null
    this.startedAtMs = carried?.startedAtMs ?? Date.now()
    this.pausedMs = carried?.pausedMs ?? 0
    this.listen()
  }

  private listen(): void {
    setHandler(
      cancelSignal,
      (request) => {
        const now = typeof request === 'object' && request !== null && request.now === true
        const by = typeof request?.by === 'string' ? request.by : null
        if (this.cancel.kind === 'now' || (this.cancel.kind !== 'no' && !now)) return
        this.cancel = { kind: now ? 'now' : 'betweenBatches', by, at: new Date().toISOString() }
        this.show()
      },
      { description: 'Stop between two batches; with {"now": true} undo a batch that has not acted yet' },
    )
    setHandler(pauseSignal, () => this.setPaused(true), {
      description: 'Pause before the next batch; the Lease is kept',
    })
    setHandler(resumeSignal, () => this.setPaused(false), { description: 'Go on after a pause' })
    setHandler(waitingSignal, (told) => this.heard(told), {
      description: 'From a step that waits; not for people',
    })
    setHandler(progressQuery, () => this.progress(), {
      description: 'State, batch, step of each node, counts, what blocks',
    })
    setHandler(planQuery, () => this.plan, { description: 'The batches as planned when the rollout began' })
    setHandler(setMaxUnavailableUpdate, (request) => this.setMaxUnavailable(request), {
      description: 'Workers at once, from the next batch on: {"pool": "worker", "maxUnavailable": 2}',
      validator: (request) => {
        mustBeMaxUnavailable(request?.maxUnavailable)
      },
    })
  }

  get cancelledNow(): boolean {
    return this.cancel.kind === 'now'
  }

  /** Waits while paused; false when the rollout is to stop here (CKS-20). */
  async mayGoOn(): Promise<boolean> {
    if (this.paused && this.cancel.kind === 'no') {
      this.enter('paused')
      const since = Date.now()
      await condition(() => !this.paused || this.cancel.kind !== 'no')
      this.pausedMs += Date.now() - since
    }
    return this.cancel.kind === 'no'
  }

  useSearchAttributes(registered: boolean): void {
    this.searchAttributes = registered
    if (!registered) return
    this.shownPhase = this.phase
    upsertSearchAttributes([
      { key: SEARCH_ATTRIBUTES.cluster, value: this.cluster() },
      { key: SEARCH_ATTRIBUTES.phase, value: this.phase },
    ])
  }

  enter(phase: Phase): void {
    // Each of them is an event: looking for the next batch is part of rolling.
    const shown = phase === 'waiting' ? 'rolling' : phase
    if (this.searchAttributes && shown !== this.shownPhase) {
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.phase, value: shown }])
      this.shownPhase = shown
    }
    this.phase = phase
    this.waitsFor = []
    this.show()
  }

  begin(batch: Batch): void {
    this.batch = batch
    this.batchNumber++
    this.nodes = new Map()
    for (const node of batch.nodes) this.setStep(batchNodeName(node), node.pool, 'waiting')
    this.enter('rolling')
  }

  step(job: Pick<NodeJob, 'node'>, step: Step): void {
    this.setStep(batchNodeName(job.node), job.node.pool, step)
    if (step === 'done') this.addDone(batchNodeName(job.node))
    if (step === 'done') this.leaveQuarantine(batchNodeName(job.node))
    if (step === 'done' && job.node.how === 'roll') this.countOff(job.node.pool)
    this.show()
  }

  /** Kept for `progress` until the next look at the fleet, which reads the mark itself. */
  quarantine({ node }: Pick<NodeJob, 'node'>, why: string): void {
    const name = batchNodeName(node)
    this.leaveQuarantine(name)
    const others = this.view.quarantined ?? []
    const now = { name, pool: node.pool, why: `in quarantine: ${why}` }
    this.view = { ...this.view, quarantined: [...others, now] }
    this.setStep(name, node.pool, 'quarantined')
    this.show()
  }

  /** Nodes in quarantine get one more try each. */
  tryAgain(batch: Batch): void {
    const retried = [...(this.position.retried ?? []), ...batch.nodes.map((node) => node.machineId)]
    this.position = { ...this.position, retried }
  }

  /** Runs pieces of work one after another, each when the one before has ended, however it did. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work)
    this.turn = result.catch(() => undefined)
    return result
  }

  look(view: FleetView): void {
    this.view = view
    this.show()
  }

  /** What the batch at work was in the middle of, and what that waited for, by what its steps have told. */
  heldUp(): { readonly step: 'preflight' | 'cordon' | 'drain'; readonly waitsFor: readonly string[] } {
    const nodes = [...this.nodes.values()]
    if (nodes.some(({ step }) => step === 'cordon')) return { step: 'cordon', waitsFor: [] }
    const draining = nodes.filter(({ step }) => step === 'drain')
    return draining.length === 0
      ? { step: 'preflight', waitsFor: this.waitsFor }
      : { step: 'drain', waitsFor: draining.flatMap(({ waitsFor }) => waitsFor) }
  }

  warn(warnings: readonly string[]): void {
    for (const warning of warnings)
      if (!this.warnings.includes(warning) && this.warnings.length < MOST_NAMES) this.warnings.push(warning)
  }

  get done(): Progress['done'] {
    return { count: this.doneCount, names: this.doneNames }
  }

  carried(): Carried {
    const { paused, cancel, position, batchNumber, done, warnings, view, plan, startedAtMs, pausedMs } = this
    return { paused, cancel, position, batchNumber, done, warnings, view, plan, startedAtMs, pausedMs }
  }

  progress(): Progress {
    return {
      cluster: this.cluster(),
      phase: this.phase,
      paused: this.paused,
      cancelRequested: this.cancel.kind,
      batch:
        this.batch === null
          ? null
          : { number: this.batchNumber, pool: this.batch.pool, recovery: this.batch.recovery },
      nodes: [...this.nodes.values()],
      pools: this.view.counts,
      done: this.done,
      skipped: bounded(this.view.skipped),
      notes: bounded([
        ...(this.view.quarantined ?? []).map(({ name, why }) => `${name}: ${why}`),
        ...this.view.notes,
        ...this.warnings,
      ]),
      waitsFor: this.waitsFor,
      startedAt: new Date(this.startedAtMs).toISOString(),
      // Nobody knows how long a pause lasts.
      expectedEnd: this.paused
        ? null
        : expectedEnd(this.startedAtMs + this.pausedMs, Date.now(), this.doneCount, this.left()),
      lastError: this.lastError,
    }
  }

  show(): void {
    setCurrentDetails(progressMarkdown(this.progress()))
  }

  private setPaused(paused: boolean): void {
    this.paused = paused
    this.show()
  }

  /** Anybody may send a signal, and a handler that throws would fail every workflow task from then on. */
  private heard(told: unknown): void {
    const { subject, why } = (typeof told === 'object' && told !== null ? told : {}) as Record<
      string,
      unknown
    >
    if (typeof subject !== 'string' || !Array.isArray(why)) return
    const waitsFor = why.filter((one) => typeof one === 'string')
    const node = this.nodes.get(subject)
    if (node === undefined) this.waitsFor = waitsFor
    else this.nodes.set(subject, { ...node, waitsFor })
    this.show()
  }

  /** Nodes that are still to be rolled: what is skipped or in quarantine is out of date, too, and stays so. */
  private left(): number {
    const outOfDate = this.view.counts.reduce((sum, pool) => sum + pool.outOfDate, 0)
    return Math.max(0, outOfDate - skippedIn(this.view) - (this.view.quarantined?.length ?? 0))
  }

  private setStep(name: string, pool: string, step: Step): void {
    const since = new Date().toISOString()
    this.nodes.set(name, { node: name, pool, step, since, waitsFor: [] })
  }

  private leaveQuarantine(name: string): void {
    const { quarantined } = this.view
    if (quarantined === undefined) return
    this.view = { ...this.view, quarantined: quarantined.filter((one) => one.name !== name) }
  }

  /** One less is out of date, until the next look at the fleet counts again. */
  private countOff(name: string): void {
    const counts = this.view.counts.map((pool) =>
      pool.pool === name ? { ...pool, outOfDate: Math.max(0, pool.outOfDate - 1) } : pool,
    )
    this.view = { ...this.view, counts }
  }

  private addDone(name: string): void {
    // Started by a recovery, then rolled: still one node.
    if (this.doneNames.includes(name)) return
    this.doneCount++
    if (this.doneNames.length < MOST_NAMES) this.doneNames.push(name)
  }

  private get pools(): readonly PoolCounts[] {
    return this.view.counts.length > 0 ? this.view.counts : (this.plan?.pools ?? [])
  }

  private async setMaxUnavailable(request: SetMaxUnavailable): Promise<{ inForce: string }> {
    // Who asks in the first second asks before the pools are known. The first look at the fleet may be hours away: paused.
    await condition(() => this.pools.length > 0 || this.phase === 'ended')
    const { changed, inForce } = maxUnavailableOf(request, this.pools)
    this.position = { ...this.position, maxUnavailable: { ...this.position.maxUnavailable, ...changed } }
    return { inForce: `${inForce.join('; ')}; from the next batch on` }
  }
}
