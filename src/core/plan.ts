import type { Batch, Position, Skip } from './batch.js'
import type { Member } from './model.js'
import { NO_MARKS } from './model.js'
import { nextBatch, type RolloutFacts } from './next-batch.js'
import { PlanWindow } from './plan-window.js'

export interface Plan {
  readonly batches: readonly Batch[]
  readonly skipped: readonly Skip[]
  readonly notes: readonly string[]
  /** What has to settle before anything is decided; the batches are planned as if it had. */
  readonly waitsFor: readonly string[]
}

/**
 * All batches of a rollout, as they come if every one succeeds: the very function that decides each batch, applied to
 * the facts it would find. `most` bounds the plan of a fleet.
 */
export function planRollout(facts: RolloutFacts, position: Position, most = 10_000): Plan {
  const batches: Batch[] = []
  const first = nextBatch(facts, position)
  const waitsFor = first.kind === 'wait' ? first.why : []
  const window = new PlanWindow(first.kind === 'wait' ? settled(facts) : facts, position)
  while (batches.length < most) {
    const next = nextBatch(window.facts(), window.position)
    if (next.kind !== 'batch') break
    batches.push(next.batch)
    window.pass(next.batch, afterBatch)
  }
  const { skipped, notes } = nextBatch(window.all(), position).view
  return { batches, skipped, notes, waitsFor }
}

/** The facts once this batch has succeeded (K3). */
export function afterBatch(facts: RolloutFacts, batch: Batch): RolloutFacts {
  const rolled = new Map(batch.nodes.map((node) => [node.machineId, node]))
  return {
    ...facts,
    members: facts.members.map((member) => {
      const node = rolled.get(member.machine.id)
      return node === undefined ? member : afterRoll(member, node)
    }),
  }
}

function afterRoll(member: Member, { wants }: Batch['nodes'][number]): Member {
  const { machine } = member
  const offering = wants.offerings?.includes(machine.offering) === false ? wants.offerings[0] : undefined
  const groups = wants.affinityGroups ?? []
  return {
    ...member,
    machine: {
      ...machine,
      power: 'running',
      operation: null,
      offering: offering ?? machine.offering,
      rootDiskGiB:
        wants.rootDiskGiB === null
          ? machine.rootDiskGiB
          : Math.max(machine.rootDiskGiB ?? 0, wants.rootDiskGiB),
      affinityGroups:
        groups.length === 0
          ? machine.affinityGroups
          : [
              ...machine.affinityGroups.filter((group) => group.explicitDedication),
              ...[...new Set(groups)].map((name) => ({ name, explicitDedication: false })),
            ],
    },
    node: nodeAfter(member),
  }
}

function nodeAfter({ type, machine, node }: Member): Member['node'] {
  if (type === 'etcd' && node === null) return null
  if (node === null)
    return {
      name: machine.name,
      uid: '',
      resourceVersion: '',
      providerId: machine.providerId,
      labels: {},
      annotations: {},
      bootId: null,
      ready: 'ready',
      unschedulable: false,
      controlPlane: type === 'control',
      ephemeralStorageKiB: null,
      busyWith: null,
      marks: NO_MARKS,
    }
  return {
    ...node,
    ready: 'ready',
    unschedulable: node.unschedulable && node.marks.bootId === null,
    marks: NO_MARKS,
  }
}

function settled(facts: RolloutFacts): RolloutFacts {
  return {
    ...facts,
    members: facts.members.map((member) => {
      const { machine } = member
      const power =
        machine.power === 'stopping' || machine.power === 'stopped'
          ? ('stopped' as const)
          : ('running' as const)
      return { ...member, machine: { ...machine, operation: null, power } }
    }),
  }
}
