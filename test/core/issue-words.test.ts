import { expect, it } from 'vitest'
import { z } from 'zod'
import { issueWords } from '../../src/core/issue-words.js'

it.each<[z.ZodType, unknown, string]>([
  [z.object({}), undefined, 'is missing, expected an object'],
  [z.array(z.string()), undefined, 'is missing, expected a list'],
  [z.string(), 7, 'is a number, not text'],
  [z.number(), 'seven', 'is text, not a number'],
  [z.boolean(), null, 'is null, not true or false'],
  [z.string('expected the name of a size'), 7, 'expected the name of a size'],
])('InvalidSpec is told in the words of people (%#)', (schema, given, words) => {
  expect(schema.safeParse(given).error?.issues.map(issueWords)).toEqual([words])
})
