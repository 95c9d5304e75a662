import { isDeepStrictEqual } from 'node:util'
import type { ApiObject, Condition, Labels } from '../objects/api-object.js'
import { type LabelSelector, matchesSelector } from '../objects/label-selector.js'
import { defineResource, type FieldProblem, type Resource } from '../objects/resource.js'
import { completePodSpec, containerProblems, type PodSpec } from './pod-spec.js'

/** Whatever keeps pods made from a template. */
export interface Workload extends ApiObject {
  readonly spec: WorkloadSpec
  readonly status: WorkloadStatus
}

export interface WorkloadSpec {
  readonly replicas?: number
  readonly selector: LabelSelector
  readonly template: PodTemplate
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Labels
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
  }
  readonly spec: PodSpec
}

export interface WorkloadStatus {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly updatedReplicas?: number
  readonly numberReady?: number
  readonly numberAvailable?: number
  readonly desiredNumberScheduled?: number
  readonly currentNumberScheduled?: number
  readonly updatedNumberScheduled?: number
  readonly conditions?: readonly Condition[]
}

export interface Deployment extends Workload {
  readonly spec: WorkloadSpec & {
    readonly strategy: {
      readonly type: 'RollingUpdate' | 'Recreate'
      readonly rollingUpdate?: {
        readonly maxSurge: number | string
        readonly maxUnavailable: number | string
      }
    }
  }
}

export interface StatefulSet extends Workload {
  readonly spec: WorkloadSpec & {
    readonly serviceName?: string
    readonly podManagementPolicy: 'OrderedReady' | 'Parallel'
  }
}

const ROLLING = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } }

export const DEPLOYMENTS = workload<Deployment>(
  'Deployment',
  'deploy',
  { replicas: 1, strategy: ROLLING, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
  {},
)

export const REPLICA_SETS = workload<Workload>('ReplicaSet', 'rs', { replicas: 1 }, { replicas: 0 })

export const STATEFUL_SETS = workload<StatefulSet>(
  'StatefulSet',
  'sts',
  {
    ...{ replicas: 1, podManagementPolicy: 'OrderedReady', revisionHistoryLimit: 10 },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  },
  { replicas: 0, availableReplicas: 0 },
)

export const DAEMON_SETS = workload<Workload>(
  'DaemonSet',
  'ds',
  {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    revisionHistoryLimit: 10,
  },
  { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
)

function workload<T extends Workload>(
  kind: string,
  shortName: string,
  defaults: object,
  blank: object,
): Resource<T> {
  return defineResource<T>({
    group: 'apps',
    kind,
    namespaced: true,
    shortNames: [shortName],
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
    complete(object, stored) {
      const { template, ...spec } = object.spec ?? {}
      return {
        ...object,
        spec: { ...defaults, ...spec, template: { ...template, spec: completePodSpec(template?.spec) } },
        status: stored === null ? blank : { ...blank, ...object.status },
      }
    },
    problems: ({ spec }, stored) => [
      ...selectorProblems(spec),
      ...(stored === null || isDeepStrictEqual(stored.spec.selector, spec.selector)
        ? []
        : [wrong('spec.selector', spec.selector, 'field is immutable')]),
      ...containerProblems(spec.template.spec, 'spec.template.spec'),
    ],
  })
}

function selectorProblems({ selector, template }: WorkloadSpec): FieldProblem[] {
  if (selector === undefined) {
    return [{ reason: 'FieldValueRequired', field: 'spec.selector', message: 'Required value' }]
  }
  const labels = template.metadata?.labels ?? {}
  if (matchesSelector(selector, labels)) return []
  return [wrong('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')]
}

function wrong(field: string, value: unknown, why: string): FieldProblem {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` }
}
