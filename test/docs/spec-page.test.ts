import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { tablesOf } from '../../scripts/reference/tables.js'
import { writtenJsonSchema } from '../../src/spec/json-schema.js'
import { parseRollout } from '../../src/spec/parse.js'
import { MACHINES } from '../../src/worker/world.js'

const page = await readFile(new URL('../../docs/spec.md', import.meta.url), 'utf8')

describe('the page about the spec', () => {
  it('CKS-01 begins with a spec that is accepted, the options of its provider included', () => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
    const parsed = parseRollout(parse(example))
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
    const { machines } = parsed.value.target
    expect(MACHINES[machines.provider]?.options.safeParse(machines.options)).toMatchObject({ success: true })
  })
})

describe('tables of a schema', () => {
  const duration = z
    .union([z.number(), z.string()])
    .meta({ title: 'duration' })
    .transform((value) => Number(value))

  const rule = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('wait'), seconds: z.int().min(0).describe('how long') }),
    z.strictObject({ kind: z.literal('evict'), force: z.boolean().default(false).describe('at once') }),
  ])

  const schema = z.strictObject({
    word: z.string().describe('a | b'),
    choice: z.enum(['refuse', 'evict']).default('refuse').describe('what to do'),
    limit: duration.default(900).describe('how long'),
    some: z.int().min(1).max(200).optional().describe('how many'),
    names: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe('one or several'),
    nothing: z.null().optional(),
    drain: z
      .strictObject({ rules: z.array(rule).default([]).describe('in order') })
      .prefault({})
      .describe('how pods go'),
    pools: z.record(z.string(), z.strictObject({ labels: z.record(z.string(), z.string()) })).default({}),
  })

  it.each<[string, string]>([
    ['a field without default', '| `word` | text | **required** | a \\| b |'],
    ['choices', '| `choice` | `refuse`, `evict` | `refuse` | what to do |'],
    ['the default of what is transformed', '| `limit` | duration | `15m` | how long |'],
    ['limits', '| `some` | integer, 1 to 200 | – | how many |'],
    ['a union', '| `names` | text or list of text | – | one or several |'],
    ['a field that nobody has described', '| `nothing` | null | – |  |'],
    ['an object', '| `drain` | object | – | how pods go; see [`drain`](#drain) |'],
    ['the sentence of an object', '## `drain`\n\nHow pods go.\n'],
    [
      'a list of objects of several kinds',
      '| `rules` | list of object | `[]` | in order; see [`drain.rules[]` with `kind: wait`](#drainrules-with-kind-wait); ' +
        'see [`drain.rules[]` with `kind: evict`](#drainrules-with-kind-evict) |',
    ],
    ['one kind', '## `drain.rules[]` with `kind: wait`\n\n| field'],
    ['its fields', '| `seconds` | integer, at least 0 | **required** | how long |'],
    ['the other kind', '| `force` | `true`, `false` | `false` | at once |'],
    ['a map of objects', '| `pools` | names to object | `{}` | see [`pools.<name>`](#poolsname) |'],
    ['what is in it', '## `pools.<name>`\n\n| field'],
    ['a map of texts', '| `labels` | names to text | **required** |  |'],
  ])('say %s', (_, text) => {
    expect(tablesOf(writtenJsonSchema(schema), 'All')).toContain(text)
  })

  it('cannot be made of a schema that refers to itself', () => {
    const pod = z.object({
      get inside() {
        return z.optional(pod)
      },
    })
    expect(() => tablesOf(writtenJsonSchema(z.object({ pod })), 'All')).toThrow('refers to itself')
  })
})
