import ms, { type StringValue } from 'ms'
import { z } from 'zod'

/** A length of time: `90s`, `15m`, `6h`, or a number of seconds. The least is given; every limit is at least a second. */
export function duration(leastSeconds: number) {
  return z
    .union([z.number(), z.string()], `expected a duration such as 90s, 15m or 6h`)
    .meta({
      title: 'duration',
      description: 'a duration such as 90s, 15m or 6h, or a number of seconds',
    })
    .transform((value, context) => {
      const milliseconds =
        typeof value === 'number'
          ? value * 1000
          : /[a-z]$/i.test(value)
            ? ms(value as StringValue)
            : undefined
      if (milliseconds === undefined || !Number.isFinite(milliseconds)) {
        context.addIssue({ code: 'custom', message: `"${value}" is no duration; write 90s, 15m or 6h` })
        return z.NEVER
      }
      const seconds = milliseconds / 1000
      if (seconds < leastSeconds) {
        context.addIssue({ code: 'custom', message: `must be at least ${leastSeconds} s` })
        return z.NEVER
      }
      return seconds
    })
}

/** Workers at once: an integer of at least 1, or a percentage of the pool's machines (rounded down). */
export const maxUnavailable = z
  .union([z.number(), z.string()], 'expected an integer such as 2, or a percentage such as "25%"')
  .meta({
    title: 'integer or percentage',
    description: 'an integer of at least 1, or a percentage of the pool’s machines such as 25%, rounded down',
  })
  .transform((value, context) => {
    const percent = typeof value === 'string' ? /^(\d{1,3})%$/.exec(value)?.[1] : undefined
    if (percent !== undefined && Number(percent) >= 1 && Number(percent) <= 100)
      return { percent: Number(percent) }
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return { count: value }
    context.addIssue({
      code: 'custom',
      message: `${JSON.stringify(value)} is neither an integer of at least 1 nor a percentage from "1%" to "100%"`,
    })
    return z.NEVER
  })

/** Plain, non-secret options of a provider; the provider checks them. */
export const providerOptions = z
  .object({
    provider: z
      .string()
      .min(1, 'name a provider')
      .describe('name of the provider; its options stand beside it'),
  })
  .catchall(
    z
      .union(
        [z.string(), z.number(), z.boolean(), z.array(z.string())],
        'expected text, a number, true, false or a list of texts',
      )
      .describe('an option of that provider, never a secret; each provider has a table below'),
  )

export const clusterName = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/,
    'expected a name of lower-case letters, digits, dots and dashes, at most 63 characters',
  )

export const kubernetes = z
  .strictObject({
    context: z.string().min(1).optional().describe('context of the kubeconfig. Without it: its current one'),
    kubeconfig: z
      .string()
      .min(1)
      .optional()
      .describe('path of a kubeconfig on the worker. Without it: KUBECONFIG or ~/.kube/config there'),
    inCluster: z.literal(true).optional().describe('use the service account of the worker’s pod'),
    endpoints: z
      .array(z.url({ protocol: /^https$/, error: 'expected an https:// address' }))
      .default([])
      .describe('other API servers of the same cluster, tried in turn'),
    namespace: z
      .string()
      .min(1)
      .default('kube-system')
      .describe('where the Lease and the ConfigMap are kept'),
  })
  .refine(
    (value) =>
      value.inCluster === undefined || (value.context === undefined && value.kubeconfig === undefined),
    {
      message: 'inCluster excludes context and kubeconfig; remove one of them',
    },
  )
  .refine(
    (value) => value.inCluster !== undefined || value.context !== undefined || value.kubeconfig !== undefined,
    {
      message: 'say how to reach the cluster: context, kubeconfig or inCluster: true',
    },
  )
