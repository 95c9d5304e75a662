import { describe, expect, it } from 'vitest'
import { NodeCacheContent, readSlimNode } from '../../../src/providers/kubernetes/node-cache-content.js'

const slim = (name: string, version: number, bootID = `boot-of-${name}`) =>
  readSlimNode({ metadata: { name, resourceVersion: String(version) }, status: { nodeInfo: { bootID } } })

/** w-1 at 5 and w-2 at 8, all known up to 10. */
function listed(): NodeCacheContent {
  const content = new NodeCacheContent()
  content.listed([slim('w-1', 5), slim('w-2', 8)], '10', null)
  return content
}

const shown = (content: NodeCacheContent) =>
  content.records().map(({ name, resourceVersion }) => `${name}@${resourceVersion}`)

describe('no node goes back to an older version', () => {
  it.each<[string, (content: NodeCacheContent) => void, string[]]>([
    ['an event', (c) => c.happened('MODIFIED', '11', slim('w-1', 11)), ['w-1@11', 'w-2@8']],
    ['a node that joins', (c) => c.happened('ADDED', '11', slim('w-3', 11)), ['w-1@5', 'w-2@8', 'w-3@11']],
    ['a node that leaves', (c) => c.happened('DELETED', '11', slim('w-1', 11)), ['w-2@8']],
    [
      'an event that the list has overtaken',
      (c) => c.happened('MODIFIED', '9', slim('w-1', 4)),
      ['w-1@5', 'w-2@8'],
    ],
    [
      'the joining of a node that is not in the later list',
      (c) => c.happened('ADDED', '9', slim('w-3', 9)),
      ['w-1@5', 'w-2@8'],
    ],
    [
      'the leaving of a node that came back before the list',
      (c) => c.happened('DELETED', '4', slim('w-1', 4)),
      ['w-1@5', 'w-2@8'],
    ],
    ['our own write, before the watch tells', (c) => c.seen(slim('w-1', 12)), ['w-1@12', 'w-2@8']],
    ['a read that was under way for long', (c) => c.seen(slim('w-1', 4)), ['w-1@5', 'w-2@8']],
    ['a read of a node that has gone since', (c) => c.seen(slim('w-3', 9)), ['w-1@5', 'w-2@8']],
    ['a read of a node that has just joined', (c) => c.seen(slim('w-3', 12)), ['w-1@5', 'w-2@8', 'w-3@12']],
    ['a read that found nothing', (c) => c.missing('w-1', c.kept('w-1')), ['w-2@8']],
    [
      'a read that found nothing, and a node that joined meanwhile',
      (c) => {
        const before = c.kept('w-1')
        c.happened('MODIFIED', '11', slim('w-1', 11))
        c.missing('w-1', before)
      },
      ['w-1@11', 'w-2@8'],
    ],
    [
      'an event older than our own write',
      (c) => {
        c.seen(slim('w-1', 14))
        c.happened('MODIFIED', '12', slim('w-1', 12))
      },
      ['w-1@14', 'w-2@8'],
    ],
    [
      'a deletion older than the node that we have read since',
      (c) => {
        c.seen(slim('w-1', 14))
        c.happened('DELETED', '12', slim('w-1', 12))
      },
      ['w-1@14', 'w-2@8'],
    ],
    [
      'a list older than our own write',
      (c) => {
        c.seen(slim('w-1', 14))
        c.listed([slim('w-1', 11)], '13', 10)
      },
      ['w-1@14'],
    ],
    [
      'a list whose pages took longer than the next events',
      (c) => {
        c.happened('MODIFIED', '14', slim('w-1', 14))
        c.listed([slim('w-1', 5), slim('w-2', 8)], '12', 10)
      },
      ['w-1@14', 'w-2@8'],
    ],
    [
      'a list older than our own write, after a gap',
      (c) => {
        c.forget()
        c.seen(slim('w-1', 14))
        c.seen(slim('w-2', 3))
        c.listed([slim('w-1', 11), slim('w-2', 8)], '13', null)
      },
      ['w-1@14', 'w-2@8'],
    ],
    [
      'the list of a cluster that was put back from a backup, which alone counts',
      (c) => c.listed([slim('w-1', 3)], '4', 10),
      ['w-1@3'],
    ],
  ])('%s', (_, happen, expected) => {
    const content = listed()

    happen(content)

    expect(shown(content)).toEqual(expected)
  })
})

describe('where the content stands', () => {
  it.each<[string, string | null, boolean, number | null]>([
    ['a bookmark further on shows the server', '12', true, 12],
    ['a bookmark at the same place, too', '10', true, 10],
    ['one from before says nothing about now', '9', false, 10],
    ['an event without a version may hide anything', null, false, null],
    ['and so does one that is no number', 'abc', false, null],
  ])('%s', (_, version, isCurrent, position) => {
    const content = listed()

    expect(content.happened('BOOKMARK', version, null)).toBe(isCurrent)
    expect(content.position).toBe(position)
  })

  it('is unknown with a server whose versions are no numbers', () => {
    const content = new NodeCacheContent()
    content.listed([slim('w-1', 5)], 'etag-7', null)

    expect(content.position).toBeNull()
    expect(content.records()).toEqual([])
  })
})

it('a boot id that two nodes have is nobody’s, while they have it', () => {
  const content = listed()
  const bootIds = () => content.records().map(({ bootId }) => bootId)
  expect(bootIds()).toEqual(['boot-of-w-1', 'boot-of-w-2'])

  content.happened('MODIFIED', '11', slim('w-2', 11, 'boot-of-w-1'))
  expect(bootIds()).toEqual([null, null])
  expect(content.record(slim('w-1', 5)).bootId).toBeNull()

  content.happened('DELETED', '12', slim('w-2', 12, 'boot-of-w-1'))
  expect(bootIds()).toEqual(['boot-of-w-1'])
})
