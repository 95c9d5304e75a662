import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

export interface KubernetesEvent extends ApiObject {
  readonly involvedObject: { readonly kind?: string; readonly name?: string; readonly namespace?: string }
  readonly reason?: string
  readonly message?: string
  readonly type?: string
  readonly count?: number
  readonly lastTimestamp?: string
}

export const EVENTS = defineResource<KubernetesEvent>({
  group: '',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  createOnUpdate: true,
  fields: [
    ...['involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name', 'involvedObject.uid'],
    ...['involvedObject.apiVersion', 'involvedObject.resourceVersion', 'involvedObject.fieldPath'],
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
  complete: (object) => ({
    ...{ eventTime: null, reportingComponent: '', reportingInstance: '' },
    ...object,
    involvedObject: object.involvedObject ?? {},
    source: 'source' in object ? object.source : {},
  }),
  problems({ metadata, involvedObject }) {
    const { namespace } = involvedObject
    // What is in no namespace has its events in `default`.
    const isFitting =
      namespace === undefined ? metadata.namespace === 'default' : namespace === metadata.namespace
    if (isFitting) return []
    const message = `Invalid value: ${JSON.stringify(namespace ?? '')}: does not match event.namespace`
    return [{ reason: 'FieldValueInvalid', field: 'involvedObject.namespace', message }]
  },
})
