/** Taints by which other tools say that they are about to take a node down. */
const TAINTS: Readonly<Record<string, string>> = {
  ToBeDeletedByClusterAutoscaler: 'the cluster autoscaler',
  'karpenter.sh/disrupted': 'Karpenter',
  'karpenter.sh/disruption': 'Karpenter',
  'node.cloudprovider.kubernetes.io/shutdown': 'the cloud provider',
}

/** Annotations with the same meaning; null: whatever the value. */
const ANNOTATIONS: Readonly<Record<string, { readonly value: string | null; readonly tool: string }>> = {
  'weave.works/kured-reboot-in-progress': { value: null, tool: 'kured' },
  'machineconfiguration.openshift.io/state': { value: 'Working', tool: 'the machine config operator' },
  'update.node.deckhouse.io/draining': { value: null, tool: 'Deckhouse' },
}

/** Which other tool is taking this node down, with the sign it left; null when none is seen. */
export function otherToolAt(
  taints: readonly { readonly key: string }[],
  annotations: Readonly<Record<string, string>>,
): string | null {
  for (const { key } of taints) {
    const tool = TAINTS[key]
    if (tool !== undefined) return `${tool} (taint ${key})`
  }
  for (const [key, { value, tool }] of Object.entries(ANNOTATIONS)) {
    const found = annotations[key]
    if (found !== undefined && (value === null || found === value)) return `${tool} (annotation ${key})`
  }
  return null
}
