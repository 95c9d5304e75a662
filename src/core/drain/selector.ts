import { type PodRecord, selectsLabels } from '../pods.js'
import type { PodSelector } from '../spec.js'

/** Does a selector of the spec select this pod? */
export function selectsPod(selector: PodSelector, pod: PodRecord): boolean {
  return (
    (selector.namespace === null || selector.namespace === pod.namespace) &&
    selectsLabels(selector, pod.labels)
  )
}

export function isSelected(pod: PodRecord, selectors: readonly PodSelector[]): boolean {
  return selectors.some((selector) => selectsPod(selector, pod))
}
