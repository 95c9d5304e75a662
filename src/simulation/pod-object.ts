import type { SimulatedMachine } from './cloud-state.js'
import type { KubeObject } from './kube-api.js'

export interface PodObject extends KubeObject {
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly { readonly name: string; readonly image?: string }[]
    readonly restartPolicy?: string
  }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly startTime?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** Annotations by which a test scripts one pod. */
export const POD_SCRIPT = {
  /** Takes so many milliseconds to end, whatever its grace period is. */
  terminationMs: 'simulation.noderoll.io/termination-ms',
  /** Runs but is never Ready. */
  neverReady: 'simulation.noderoll.io/never-ready',
  /** Goes on running however it is asked to end, until the annotation is removed. */
  ignoresTermination: 'simulation.noderoll.io/ignores-termination',
} as const

export function hasScript(pod: PodObject, key: keyof typeof POD_SCRIPT): boolean {
  const value = pod.metadata.annotations?.[POD_SCRIPT[key]]
  return value !== undefined && value !== 'false'
}

/** How long the pod's containers take to end, in milliseconds. */
export function terminationMsOf(pod: PodObject, usualMs: number | null): number {
  const scripted = Number(pod.metadata.annotations?.[POD_SCRIPT.terminationMs])
  if (!Number.isNaN(scripted)) return scripted
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000
  return usualMs === null ? graceMs : Math.min(graceMs, usualMs)
}

export function isReady(pod: PodObject): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

export function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** Merge patch for the status of a pod whose containers run. */
export function runningPatch(
  pod: PodObject,
  machine: SimulatedMachine,
  podIP: string,
  restarts: number,
  startedAt: string,
): unknown {
  const ready = !hasScript(pod, 'neverReady')
  const status = ready ? 'True' : 'False'
  return {
    metadata: { uid: pod.metadata.uid },
    status: {
      phase: 'Running',
      hostIP: machine.ip,
      podIP,
      podIPs: [{ ip: podIP }],
      startTime: pod.status?.startTime ?? startedAt,
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
        type,
        status: type.endsWith('Ready') ? status : 'True',
        lastTransitionTime: startedAt,
      })),
      containerStatuses: pod.spec.containers.map(({ name, image = 'none' }) => ({
        name,
        image,
        imageID: '',
        ready,
        started: true,
        restartCount: restarts,
        state: { running: { startedAt } },
      })),
    },
  }
}

/** Merge patch for a pod on a node that is off; null when it is not Ready anyway. */
export function notReadyPatch(pod: PodObject, now: string): unknown {
  if (!isReady(pod)) return null
  const conditions = (pod.status?.conditions ?? []).map((condition) =>
    condition.type === 'Ready' ? { ...condition, status: 'False', lastTransitionTime: now } : condition,
  )
  return { metadata: { uid: pod.metadata.uid }, status: { conditions } }
}
