import { parseArgs } from 'node:util'

export const FAILURES = ['drain', 'start', 'capacity'] as const
export type Failure = (typeof FAILURES)[number]

export interface DemoArguments {
  /** Leave everything running after the rollout, until Ctrl-C. */
  readonly keep: boolean
  /** What goes wrong, to show what a failure looks like. */
  readonly fail: Failure | null
  readonly help: boolean
}

export const USAGE = `npm run demo -- [--keep] [--fail ${FAILURES.join('|')}]

  --keep  leaves Temporal, the cluster and the worker running, and prints the stock temporal lines to try
  --fail  drain: a disruption budget never allows an eviction; start: a machine does not start any more;
          capacity: the cloud has no room for the new size`

/** Throws an error whose message is for the person. */
export function demoArguments(args: readonly string[]): DemoArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      keep: { type: 'boolean', default: false },
      fail: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const fail = FAILURES.find((one) => one === values.fail)
  if (values.fail !== undefined && fail === undefined) {
    throw new Error(`--fail takes ${FAILURES.join(', ')}; not ${values.fail}`)
  }
  return { keep: values.keep, fail: fail ?? null, help: values.help }
}
