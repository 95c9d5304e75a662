import { z } from 'zod'
import type { PodRecord } from '../../core/pods.js'
import { METADATA, understood } from './objects.js'

/** Lists that the API server leaves out when empty, and that old objects lack. */
const NONE = <T>(schema: z.ZodType<T>) => z.array(schema).nullish()

const POD = z.object({
  metadata: METADATA.extend({
    creationTimestamp: z.string().nullish(),
    deletionTimestamp: z.string().nullish(),
    deletionGracePeriodSeconds: z.number().nullish(),
    finalizers: NONE(z.string()),
    ownerReferences: NONE(
      z.object({
        apiVersion: z.string().nullish(),
        kind: z.string(),
        name: z.string(),
        controller: z.boolean().nullish(),
      }),
    ),
  }),
  spec: z
    .object({
      nodeName: z.string().nullish(),
      priority: z.number().nullish(),
      priorityClassName: z.string().nullish(),
      volumes: NONE(
        z.object({
          name: z.string().nullish(),
          emptyDir: z.unknown().nullish(),
          ephemeral: z.unknown().nullish(),
          persistentVolumeClaim: z.object({ claimName: z.string() }).nullish(),
        }),
      ),
    })
    .nullish(),
  status: z
    .object({
      phase: z.string().nullish(),
      conditions: NONE(z.object({ type: z.string(), status: z.string() })),
    })
    .nullish(),
})

export type WirePod = z.infer<typeof POD>

/** An item of a pod list. */
export function readPod(item: unknown): WirePod {
  return understood(item, POD, 'read the pods')
}

/** `nowMs` is the API server's clock: ages by our own would be wrong by the difference. */
export function podRecord({ metadata, spec, status }: WirePod, nowMs: number): PodRecord {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true)
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    uid: metadata.uid ?? '',
    nodeName: spec?.nodeName || null,
    labels: metadata.labels ?? {},
    phase: status?.phase ?? 'Unknown',
    ready: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
    terminating: typeof metadata.deletionTimestamp === 'string',
    ageSeconds: ageSeconds(metadata, nowMs),
    ...deletionOf(metadata, nowMs),
    finalizers: metadata.finalizers ?? [],
    mirror: 'kubernetes.io/config.mirror' in (metadata.annotations ?? {}),
    controller:
      controller === undefined
        ? null
        : { apiVersion: controller.apiVersion ?? '', kind: controller.kind, name: controller.name },
    emptyDir: spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null) ?? false,
    claims: claimsOf(metadata.name, spec),
    priority: spec?.priority ?? 0,
    priorityClass: spec?.priorityClassName || null,
  }
}

function ageSeconds({ creationTimestamp }: WirePod['metadata'], nowMs: number): number | null {
  const created = Date.parse(creationTimestamp ?? '')
  return Number.isNaN(created) ? null : secondsSince(created, nowMs)
}

/** The claim of a generic ephemeral volume is named after the pod and the volume. */
function claimsOf(podName: string, spec: WirePod['spec']): string[] {
  return (spec?.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName]
    return ephemeral ? [`${podName}-${name ?? ''}`] : []
  })
}

/** `deletionTimestamp` is when the grace period ends, not when the deletion was asked for. */
function deletionOf(
  metadata: WirePod['metadata'],
  nowMs: number,
): Pick<PodRecord, 'deletionAgeSeconds' | 'overdueSeconds'> {
  const graceEnds = Date.parse(metadata.deletionTimestamp ?? '')
  if (Number.isNaN(graceEnds)) return { deletionAgeSeconds: null, overdueSeconds: null }
  const asked = graceEnds - (metadata.deletionGracePeriodSeconds ?? 0) * 1000
  return { deletionAgeSeconds: secondsSince(asked, nowMs), overdueSeconds: secondsSince(graceEnds, nowMs) }
}

function secondsSince(atMs: number, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - atMs) / 1000))
}
