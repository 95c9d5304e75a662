import type { FieldProblem } from '../objects/resource.js'

export interface PodSpec {
  readonly nodeName?: string
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly affinity?: { readonly nodeAffinity?: NodeAffinity }
  readonly tolerations?: readonly Toleration[]
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly terminationGracePeriodSeconds?: number
  readonly schedulerName?: string
  readonly priority?: number
  readonly priorityClassName?: string
  readonly preemptionPolicy?: string
  readonly restartPolicy?: string
  readonly enableServiceLinks?: boolean
  readonly activeDeadlineSeconds?: number
  readonly hostNetwork?: boolean
  readonly hostname?: string
  readonly subdomain?: string
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly imagePullPolicy?: string
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>
    readonly limits?: Readonly<Record<string, string>>
  }
}

export interface Toleration {
  readonly key?: string
  readonly operator?: 'Exists' | 'Equal'
  readonly value?: string
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  readonly tolerationSeconds?: number
}

export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms: readonly NodeSelectorTerm[]
  }
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number
    readonly preference: NodeSelectorTerm
  }[]
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeRequirement[]
  readonly matchFields?: readonly NodeRequirement[]
}

export interface NodeRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** With the defaults of a pod and of a template of pods. */
export function completePodSpec(spec: PodSpec | undefined): PodSpec {
  const { containers, initContainers, ...rest } = spec ?? { containers: [] }
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    ...{ dnsPolicy: 'ClusterFirst', securityContext: {}, schedulerName: 'default-scheduler' },
    ...rest,
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(completeContainer) }),
    containers: (containers ?? []).map(completeContainer),
  }
}

export function containerProblems(spec: PodSpec, path: string): FieldProblem[] {
  const required = (field: string): FieldProblem => ({
    reason: 'FieldValueRequired',
    field,
    message: 'Required value',
  })
  if (spec.containers.length === 0) return [required(`${path}.containers`)]
  return spec.containers.flatMap(({ name, image }, index) => [
    ...(name ? [] : [required(`${path}.containers[${index}].name`)]),
    ...(image ? [] : [required(`${path}.containers[${index}].image`)]),
  ])
}

/** The class by which a kubelet would choose whom to end first. */
export function qualityOf({ containers, initContainers = [] }: PodSpec): string {
  const all = [...containers, ...initContainers].map(({ resources }) => resources ?? {})
  const says = (amounts: object | undefined) => Object.keys(amounts ?? {}).length > 0
  if (!all.some(({ requests, limits }) => says(requests) || says(limits))) return 'BestEffort'
  const isGuaranteed = all.every(({ requests, limits }) =>
    ['cpu', 'memory'].every(
      (name) => limits?.[name] !== undefined && (requests?.[name] ?? limits[name]) === limits[name],
    ),
  )
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

function completeContainer(container: Container): Container {
  const { image = '' } = container
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? 'latest'
  return {
    ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
    imagePullPolicy: tag === 'latest' && !image.includes('@') ? 'Always' : 'IfNotPresent',
    ...container,
    resources: container.resources ?? {},
  }
}
