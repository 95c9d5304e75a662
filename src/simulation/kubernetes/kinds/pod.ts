import { isDeepStrictEqual } from 'node:util'
import { forbidden } from '../objects/api-error.js'
import { type ApiObject, type Condition, timestamp, withCondition } from '../objects/api-object.js'
import { defineResource, type FieldProblem } from '../objects/resource.js'
import { completePodSpec, containerProblems, type PodSpec, qualityOf } from './pod-spec.js'
import { PRIORITY_CLASSES } from './priority-class.js'

export interface Pod extends ApiObject {
  readonly spec: PodSpec
  readonly status: PodStatus
}

export interface PodStatus {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  readonly conditions?: readonly Condition[]
  readonly containerStatuses?: readonly { readonly ready?: boolean; readonly restartCount?: number }[]
  readonly podIP?: string
  readonly startTime?: string
  readonly qosClass?: string
}

/** How long a pod stays on a node that has just become unready, unless it says something else. */
const NODE_FAILURE_SECONDS = 300
const NODE_FAILURES = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']

export const PODS = defineResource<Pod>({
  group: '',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  fields: ['spec.nodeName', 'spec.schedulerName', 'spec.restartPolicy', 'status.phase', 'status.podIP'],
  complete(object, stored) {
    const spec = completePodSpec(object.spec)
    if (stored === null) return { ...object, spec, status: { phase: 'Pending', qosClass: qualityOf(spec) } }
    const { conditions } = object.status
    const status = { ...object.status, ...(conditions && { conditions: conditions.map(withTimes) }) }
    return { ...object, spec, status }
  },
  admit(object, look) {
    const { spec } = object
    const name = spec.priorityClassName
    const found = name === undefined ? undefined : look.find(PRIORITY_CLASSES, '', name)
    if (name !== undefined && found === undefined) {
      throw forbidden(PODS, object.metadata.name, `no PriorityClass with name ${name} was found`)
    }
    return {
      ...object,
      spec: {
        ...spec,
        priority: found?.value ?? 0,
        preemptionPolicy: found?.preemptionPolicy ?? 'PreemptLowerPriority',
        enableServiceLinks: spec.enableServiceLinks ?? true,
        tolerations: withNodeFailures(spec.tolerations ?? []),
      },
    }
  },
  problems(object, stored) {
    const problems = containerProblems(object.spec, 'spec')
    if (stored !== null && !isDeepStrictEqual(fixedPart(object.spec), fixedPart(stored.spec))) {
      problems.push({ reason: 'FieldValueForbidden', field: 'spec', message: UNCHANGEABLE })
    }
    return problems
  },
})

const UNCHANGEABLE: FieldProblem['message'] =
  'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,' +
  '`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing ' +
  'tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** With this condition in its status. */
export function withPodCondition(pod: Pod, condition: Condition): Pod {
  const conditions = withCondition(pod.status.conditions, withTimes(condition), timestamp())
  return { ...pod, status: { ...pod.status, conditions } }
}

/** The server writes these times also when nobody has said them. */
function withTimes(condition: Condition): Condition {
  return { ...{ lastProbeTime: null, lastTransitionTime: null }, ...condition }
}

export function isFinished({ status }: Pod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed'
}

function fixedPart({ containers, initContainers, tolerations, activeDeadlineSeconds, ...fixed }: PodSpec) {
  const withoutImages = (list: PodSpec['containers'] = []) => list.map((one) => ({ ...one, image: '' }))
  return {
    ...fixed,
    containers: withoutImages(containers),
    initContainers: withoutImages(initContainers),
  }
}

function withNodeFailures(tolerations: NonNullable<PodSpec['tolerations']>) {
  const missing = NODE_FAILURES.filter(
    (failure) =>
      !tolerations.some(
        ({ key, effect }) => (!key || key === failure) && (!effect || effect === 'NoExecute'),
      ),
  )
  const added = missing.map((key) => ({
    ...{ key, operator: 'Exists' as const, effect: 'NoExecute' as const },
    tolerationSeconds: NODE_FAILURE_SECONDS,
  }))
  return [...tolerations, ...added]
}
