import { DecodeError } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, unknown>>
}

export const CONFIG_MAPS = defineResource<ConfigMap>({
  group: '',
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  complete(object) {
    const other = Object.values(object.data ?? {}).find((value) => typeof value !== 'string')
    if (other === undefined) return object
    throw new DecodeError(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal ' +
        `${typeof other} into Go struct field ConfigMap.data of type string`,
    )
  },
})
