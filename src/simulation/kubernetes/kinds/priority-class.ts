import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

export interface PriorityClass extends ApiObject {
  readonly value: number
  readonly preemptionPolicy?: string
}

export const PRIORITY_CLASSES = defineResource<PriorityClass>({
  group: 'scheduling.k8s.io',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
  shortNames: ['pc'],
  complete: (object) => ({
    ...object,
    preemptionPolicy: object.preemptionPolicy ?? 'PreemptLowerPriority',
  }),
})
