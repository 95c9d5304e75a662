import { z } from 'zod'
import { ADDED_ANNOTATIONS } from '../../core/additions.js'
import { parseMarks } from '../../core/marks.js'
import type { NodeRecord, Readiness } from '../../core/model.js'
import { METADATA, understood } from './objects.js'
import { otherToolAt } from './other-tools.js'

/** What we read of a Node. A missing condition or field is not an error: it makes the record say unknown. */
export const NODE = z.object({
  metadata: METADATA,
  spec: z
    .object({
      providerID: z.string().nullish(),
      unschedulable: z.boolean().nullish(),
      taints: z.array(z.object({ key: z.string() })).nullish(),
    })
    .nullish(),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: z.string().nullish() }))
        .nullish(),
      nodeInfo: z.object({ bootID: z.string().nullish() }).nullish(),
      capacity: z.record(z.string(), z.union([z.string(), z.number()])).nullish(),
    })
    .nullish(),
})

export type WireNode = z.infer<typeof NODE>

/** Marks of a control-plane node by kubeadm (new and old), RKE, and installers before roles had labels of their own. */
const CONTROL_PLANE_LABELS = ['control-plane', 'master', 'controlplane'].map(
  (role) => `node-role.kubernetes.io/${role}`,
)

const READINESS: Readonly<Record<string, Readiness>> = { True: 'ready', False: 'notReady' }

/** An item of a node list. */
export function readNode(item: unknown): WireNode {
  return understood(item, NODE, 'read the nodes')
}

/** `bootId` is what `provenBootId` made of the node's own. */
export function nodeRecord(node: WireNode, bootId: string | null): NodeRecord {
  const { metadata, spec, status } = node
  const labels = metadata.labels ?? {}
  const said = status?.conditions?.find(({ type }) => type === 'Ready')
  const ready = READINESS[said?.status ?? ''] ?? 'unknown'
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    providerId: spec?.providerID || null,
    labels,
    annotations: ownOf(metadata.annotations ?? {}),
    bootId,
    ready,
    ...(ready === 'unknown' && said?.lastTransitionTime ? { unknownSince: said.lastTransitionTime } : {}),
    unschedulable: spec?.unschedulable === true,
    controlPlane:
      CONTROL_PLANE_LABELS.some((label) => label in labels) || labels['kubernetes.io/role'] === 'master',
    ephemeralStorageKiB: kibibytes(status?.capacity?.['ephemeral-storage']),
    busyWith: otherToolAt(spec?.taints ?? [], metadata.annotations ?? {}),
    marks: parseMarks(metadata.annotations ?? {}),
  }
}

/** Annotations can be large; of a fleet, only what a decision asks for is kept. */
function ownOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => ADDED_ANNOTATIONS.includes(key)))
}

const BYTES_OF: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** A Kubernetes quantity of bytes in whole KiB; null when there is none. */
export function kibibytes(quantity: string | number | undefined): number | null {
  const parts = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(String(quantity ?? ''))
  const unit = BYTES_OF[parts?.[2] ?? '']
  return parts === null || unit === undefined ? null : Math.floor((Number(parts[1]) * unit) / 1024)
}
