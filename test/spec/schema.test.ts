import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseRollout } from '../../src/spec/parse.js'
import { rolloutJsonSchema, rolloutSchema } from '../../src/spec/schema.js'

const GOOD = {
  cluster: 'prod-eu',
  kubernetes: { context: 'prod-eu', endpoints: ['https://10.0.0.2:6443'] },
  machines: { provider: 'azure-vm', subscriptionId: 's', zones: ['1'] },
  etcd: { provider: 'stacked' },
  pools: {
    control: { offering: 'Standard_D4s_v5' },
    worker: {
      offering: ['Standard_D8s_v5', 'Standard_D8as_v5'],
      rootDiskGiB: 256,
      affinityGroups: ['ppg-a'],
      maxUnavailable: '25%',
    },
  },
  rollout: true,
  drain: { timeout: '10m', gracePeriod: 30 },
  batchTimeout: '30m',
}

interface JsonSchema {
  readonly $schema?: string
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: unknown
  readonly required?: readonly string[]
  readonly default?: unknown
}

const SCHEMA = rolloutJsonSchema() as JsonSchema
// Read back from the JSON alone: what an editor or a pipeline would make of it.
const reader = z.fromJSONSchema(JSON.parse(JSON.stringify(SCHEMA)))

describe('the JSON Schema of a spec', () => {
  it('CKS-01 is a JSON Schema of 2020-12 that names every field of a spec', () => {
    expect(SCHEMA.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(SCHEMA.type).toBe('object')
    expect(Object.keys(SCHEMA.properties ?? {})).toEqual(Object.keys(rolloutSchema.shape))
  })

  it('CKS-01 asks for what has no default, and for nothing else', () => {
    expect(SCHEMA.required).toEqual(['cluster', 'kubernetes', 'machines'])
  })

  it('CKS-02 says that a spec stores only, unless it asks for more', () => {
    expect(SCHEMA.properties?.rollout?.default).toBe(false)
    expect(SCHEMA.properties?.startStopped?.default).toBe(true)
  })

  it('CKS-01 has the default of a duration, in seconds', () => {
    expect(SCHEMA.properties?.batchTimeout?.default).toBe(1800)
    expect(SCHEMA.properties?.verify?.properties?.settle?.default).toBe(5)
  })

  it.each<[string, unknown]>([
    ['with many fields', GOOD],
    ['with few', { cluster: 'c', kubernetes: { inCluster: true }, machines: { provider: 'simulated' } }],
  ])('CKS-01 accepts a good spec %s', (_, spec) => {
    expect(reader.safeParse(spec)).toMatchObject({ success: true })
    expect(parseRollout(spec)).toMatchObject({ ok: true })
  })

  it.each<[string, unknown]>([
    ['no cluster', { ...GOOD, cluster: undefined }],
    ['a cluster of a bad name', { ...GOOD, cluster: 'Prod EU' }],
    ['a field that does not exist', { ...GOOD, pool: {} }],
    ['a field of a pool that does not exist', { ...GOOD, pools: { worker: { ofering: 'x' } } }],
    ['a type that does not exist', { ...GOOD, pools: { gpu: { type: 'gpu' } } }],
    ['half a GiB', { ...GOOD, pools: { worker: { rootDiskGiB: 80.5 } } }],
    ['a word that is none of the choices', { ...GOOD, drain: { barePods: 'delete' } }],
    ['a duration that is a list', { ...GOOD, batchTimeout: ['30m'] }],
    ['no object', 'prod-eu'],
  ])('CKS-01 refuses %s, as the check does', (_, spec) => {
    expect(reader.safeParse(spec)).toMatchObject({ success: false })
    expect(parseRollout(spec)).toMatchObject({ ok: false })
  })
})
