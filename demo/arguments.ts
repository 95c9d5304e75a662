import { parseArgs } from 'node:util'

export const FAILURES = ['drain', 'start', 'capacity'] as const
export type Failure = (typeof FAILURES)[number]

export interface DemoArguments {
  /** Leave everything running after the rollout, until Ctrl-C. */
  readonly keep: boolean
  /** What goes wrong, to show what a failure looks like. */
  readonly fail: Failure | null
  readonly kubernetes: 'embedded' | 'real'
  readonly provider: 'simulated' | 'azure-vm'
  readonly help: boolean
}

export const USAGE = `npm run demo -- [OPTION ...]

  --keep                    leave everything running afterwards, with lines to try
  --fail drain              a disruption budget never allows an eviction
         start              a machine does not start any more
         capacity           the cloud has no room for the new size
  --provider simulated      machines in this process (unless told otherwise)
             azure-vm       the unmodified Azure SDK, against a stand-in for Azure
  --kubernetes embedded     a small Kubernetes API in this process (unless told)
               real         etcd, API server, controllers: built from source the
                            first time, some five minutes on two cores
  --help                    this

Example: npm run demo -- --fail drain`

/** Throws an error whose message is for the person. */
export function demoArguments(args: readonly string[]): DemoArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      keep: { type: 'boolean', default: false },
      fail: { type: 'string' },
      kubernetes: { type: 'string', default: 'embedded' },
      provider: { type: 'string', default: 'simulated' },
      help: { type: 'boolean', default: false },
    },
  })
  const fail = FAILURES.find((one) => one === values.fail)
  if (values.fail !== undefined && fail === undefined) {
    throw new Error(`--fail takes ${FAILURES.join(', ')}; not ${values.fail}`)
  }
  const { kubernetes } = values
  if (kubernetes !== 'embedded' && kubernetes !== 'real') {
    throw new Error(`--kubernetes takes embedded or real; not ${kubernetes}`)
  }
  const { provider } = values
  if (provider !== 'simulated' && provider !== 'azure-vm') {
    throw new Error(`--provider takes simulated or azure-vm; not ${provider}`)
  }
  if (provider === 'azure-vm' && (fail === 'start' || fail === 'capacity')) {
    throw new Error(`--fail ${fail} goes with --provider simulated`)
  }
  return { keep: values.keep, fail: fail ?? null, kubernetes, provider, help: values.help }
}
