import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'

/** How this worker reaches Azure: never part of a spec, or whoever starts a rollout could have the token sent elsewhere. */
export interface AzureEnvironment {
  readonly endpoint: string
  /** Scope that tokens are asked for; null: that of the public cloud. */
  readonly scope: string | null
  /** Certificates to trust besides the usual ones. */
  readonly ca: readonly string[] | null
  /** Reads a second that this worker allows itself per subscription; writes are two fifths of it, as at Azure. */
  readonly requestsPerSecond: number
}

const PUBLIC_ENDPOINT = 'https://management.azure.com'
/** Azure Resource Manager refills 25 a second per subscription, region and principal. */
const REQUESTS_PER_SECOND = 20

/** Reads `NODEROLL_AZURE_ENDPOINT`, `…_SCOPE`, `…_CA_FILE` and `…_REQUESTS_PER_SECOND`. */
export function azureEnvironment(env: NodeJS.ProcessEnv): AzureEnvironment {
  const file = env.NODEROLL_AZURE_CA_FILE
  const perSecond = Number(env.NODEROLL_AZURE_REQUESTS_PER_SECOND)
  return {
    endpoint: (env.NODEROLL_AZURE_ENDPOINT || PUBLIC_ENDPOINT).replace(/\/+$/, ''),
    scope: env.NODEROLL_AZURE_SCOPE || null,
    ca: file ? [...rootCertificates, readFileSync(file, 'utf8')] : null,
    requestsPerSecond: perSecond > 0 ? perSecond : REQUESTS_PER_SECOND,
  }
}
