import type { InCluster, NodeJob, Undone } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import { backToQuarantineChange, clearMarksChange } from '../core/marks.js'
import { isMarked, type Marks, type NodeChange, type NodeRecord } from '../core/model.js'
import { differences } from '../core/out-of-date.js'
import { sayNames } from '../core/progress.js'
import type { Connections, World } from '../ports/connections.js'
import { allEnded } from './all-ended.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { tellNode } from './node-events.js'
import { orFailure } from './port-failure.js'

type UndoInput = InCluster & { token: string; jobs: readonly NodeJob[] }

/**
 * K1: puts back every node of the batch on which no act was begun. A node whose acting mark is of this batch is named
 * `acted`, for K2 to decide; one that was marked before this rollout, or is in quarantine, stays as it was found.
 */
export function undoNodes(world: World) {
  return async (input: UndoInput): Promise<readonly Undone[]> =>
    attempting('undo', (attempt) =>
      orFailure(
        `putting back ${sayNames(input.jobs.map((job) => batchNodeName(job.node)))}`,
        'ReleaseIncomplete',
        async () => {
          const connections = await world.connect(input.target)
          return allEnded(
            input.jobs.map(async (job) => {
              const undone = await undoOne(connections, attempt, job)
              tellUndone(world, connections, job, undone)
              return undone
            }),
          )
        },
      ),
    )
}

async function undoOne(connections: Connections, attempt: Attempt, job: NodeJob): Promise<Undone> {
  const say = (kind: Undone['kind'], why: string): Undone => ({
    name: batchNodeName(job.node),
    machineId: job.node.machineId,
    kind,
    why,
  })
  if (job.node.node === null) return undoMachine(connections, attempt, job, say)
  let verdict: Verdict = { kind: 'left', why: 'the node is gone from the cluster' }
  await changeNode(connections.cluster, attempt, job.node.node, (node) => {
    verdict = undoVerdict(node, job)
    return verdict.change ?? null
  })
  return say(verdict.kind, verdict.why)
}

function tellUndone(world: World, { cluster }: Connections, job: NodeJob, { kind, why }: Undone): void {
  const { node: name } = job.node
  const { uid } = job.baseline
  // Without a baseline nothing was written to it in the first place.
  if (kind !== 'restored' || name === null || uid === null) return
  tellNode(
    world,
    cluster,
    job,
    { name, uid },
    { type: 'Warning', reason: 'NoderollPutBack', text: `Not rolled, ${why}` },
  )
}

interface Verdict {
  readonly kind: Undone['kind']
  readonly why: string
  readonly change?: NodeChange
}

function undoVerdict(node: NodeRecord, job: NodeJob): Verdict {
  const { marks } = node
  if (!isMarked(marks)) return { kind: 'restored', why: 'carries no mark' }
  const { added } = job.baseline
  if (onlyBootIdLeft(marks) && !job.baseline.foundMarked && added !== undefined) {
    const change = clearMarksChange(node, { uncordon: true, added })
    return { kind: 'restored', why: 'put back as found, though its mark was taken away', change }
  }
  if (marks.attempt?.token !== job.token) return { kind: 'left', why: 'marked by another rollout' }
  if (marks.acting?.token === job.token) return { kind: 'acted', why: `${marks.acting.act} was begun` }
  if (marks.quarantine !== null) {
    const change = backToQuarantineChange(node)
    return { kind: 'quarantined', why: 'stays in quarantine', ...(change === null ? {} : { change }) }
  }
  const foundMarked = job.baseline.foundMarked || marks.attempt.foundMarked === true
  if (marks.acting !== null || marks.failure !== null || foundMarked) {
    return { kind: 'left', why: 'was marked before this rollout and stays so' }
  }
  return { kind: 'restored', why: 'put back as found', change: clearMarksChange(node, { uncordon: true }) }
}

/** A machine without a Node carries no marks: only its own state can tell whether anything was begun. */
async function undoMachine(
  connections: Connections,
  attempt: Attempt,
  job: NodeJob,
  say: (kind: Undone['kind'], why: string) => Undone,
): Promise<Undone> {
  const machine = await connections.machines.get(job.node.machineId, attempt.signal)
  if (machine === null) return say('left', 'its machine is gone at the provider')
  const untouched =
    machine.power === 'running' &&
    machine.operation === null &&
    differences(machine, { offerings: [job.node.was.offering], rootDiskGiB: null, affinityGroups: null })
      .length === 0
  if (untouched || job.node.how === 'start') return say('restored', `its machine is ${machine.power}`)
  return say('acted', `its machine is ${machine.power}`)
}

/** Somebody took the attempt mark away, and nobody put another one there: the cordon is still ours. */
function onlyBootIdLeft({ bootId, attempt, acting, failure, quarantine, unreadable }: Marks): boolean {
  const others = [attempt, acting, failure, quarantine].filter((mark) => mark !== null)
  return bootId !== null && others.length + unreadable.length === 0
}
