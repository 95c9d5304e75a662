import { describe, expect, it } from 'vitest'
import {
  ADDED_ANNOTATIONS,
  additions,
  EXCLUDE_FROM_LOAD_BALANCERS,
  priors,
} from '../../src/core/additions.js'
import type { Added } from '../../src/core/model.js'

const [SCALE_DOWN = '', DISRUPT = ''] = ADDED_ANNOTATIONS
const BOTH = { [SCALE_DOWN]: 'true', [DISRUPT]: 'true' }
const LABEL = { [EXCLUDE_FROM_LOAD_BALANCERS]: '' }
const ALL: Added = {
  labels: { [EXCLUDE_FROM_LOAD_BALANCERS]: null },
  annotations: { [SCALE_DOWN]: null, [DISRUPT]: null },
}
const NOTHING: Added = { labels: {}, annotations: {} }

function carrying(labels: Record<string, string> = {}, annotations: Record<string, string> = {}) {
  return { labels, annotations }
}

describe('what a node gets while it is worked on', () => {
  it('names the keys that load balancers and autoscalers read', () => {
    expect(additions(carrying(), null)).toEqual({
      values: {
        labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
        annotations: {
          'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
          'karpenter.sh/do-not-disrupt': 'true',
        },
      },
      added: ALL,
    })
  })

  it.each([
    ['all of it is there, by somebody else', carrying(LABEL, BOTH), null, NOTHING],
    [
      'a label with a value of its own stays theirs',
      carrying({ [EXCLUDE_FROM_LOAD_BALANCERS]: 'forever' }, BOTH),
      null,
      NOTHING,
    ],
    ['an earlier attempt had added all of it', carrying(LABEL, BOTH), ALL, ALL],
    [
      'the prior of an earlier attempt stays while its value stands',
      carrying(LABEL, BOTH),
      { ...ALL, annotations: { [SCALE_DOWN]: 'false' } },
      { ...ALL, annotations: { [SCALE_DOWN]: 'false' } },
    ],
    [
      'somebody gave the label a value since',
      carrying({ [EXCLUDE_FROM_LOAD_BALANCERS]: 'forever' }, BOTH),
      ALL,
      { ...ALL, labels: {} },
    ],
  ])('writes nothing where %s', (_, node, earlier, added) => {
    expect(additions(node, earlier)).toEqual({ added, values: { labels: {}, annotations: {} } })
  })

  it.each<[string, Record<string, string>, Added | null, string | null]>([
    ['a value of somebody else', { [DISRUPT]: 'false' }, null, 'false'],
    ['a value that somebody else wrote since an earlier attempt', { [DISRUPT]: 'false' }, ALL, 'false'],
    ['a value taken away since an earlier attempt', {}, { ...ALL, annotations: { [DISRUPT]: 'old' } }, null],
  ])('remembers what stands now: %s', (_, annotations, earlier, prior) => {
    const { added, values } = additions(carrying(LABEL, annotations), earlier)

    expect(values.annotations[DISRUPT]).toBe('true')
    expect(added.annotations[DISRUPT]).toBe(prior)
  })

  it('keeps what another version had added', () => {
    const other = { labels: { 'example.com/mode': 'normal' }, annotations: {} }

    expect(additions(carrying(LABEL, BOTH), other).added).toEqual(other)
  })
})

describe('giving it back', () => {
  it.each<[string, ReturnType<typeof carrying>, Added, object]>([
    ['all as we set it', carrying(LABEL, BOTH), ALL, ALL],
    [
      'a value changed by somebody else stays',
      carrying(LABEL, { ...BOTH, [DISRUPT]: 'false' }),
      ALL,
      {
        ...ALL,
        annotations: { [SCALE_DOWN]: null },
      },
    ],
    [
      'one taken away by somebody else stays away',
      carrying({}, BOTH),
      { ...ALL, labels: { [EXCLUDE_FROM_LOAD_BALANCERS]: null } },
      {
        ...ALL,
        labels: {},
      },
    ],
    [
      'a prior value comes back',
      carrying({}, BOTH),
      { labels: {}, annotations: { [DISRUPT]: 'false' } },
      {
        labels: {},
        annotations: { [DISRUPT]: 'false' },
      },
    ],
    [
      'what another version had added goes back in any case',
      carrying({ 'example.com/mode': 'rolling' }),
      { labels: { 'example.com/mode': 'normal' }, annotations: {} },
      { labels: { 'example.com/mode': 'normal' }, annotations: {} },
    ],
  ])('%s', (_, node, added, expected) => {
    expect(priors(node, added)).toEqual(expected)
  })
})
