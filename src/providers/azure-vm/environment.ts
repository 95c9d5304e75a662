import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import type { Problem } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'

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

type Variables = Readonly<Record<string, string | undefined>>

const PUBLIC_ENDPOINT = 'https://management.azure.com'
/** Azure Resource Manager refills 25 a second per subscription, region and principal. */
const REQUESTS_PER_SECOND = 20
/** Below this the waiting for its turn would use up the time that a step is given. */
const FEWEST_REQUESTS_PER_SECOND = 1

/** Reads `NODEROLL_AZURE_ENDPOINT`, `…_SCOPE`, `…_CA_FILE` and `…_REQUESTS_PER_SECOND`. Throws `PortError` naming all mistakes. */
export function azureEnvironment(env: Variables): AzureEnvironment {
  const { environment, problems } = readAzureEnvironment(env)
  if (problems.length === 0) return environment
  throw new PortError(
    'refused',
    problems.map(({ where, what, fix }) => `${where} ${what}: ${fix}`).join('; '),
  )
}

/** The same with the mistakes beside it, and the default in place of what is mistaken. */
export function readAzureEnvironment(env: Variables): {
  readonly environment: AzureEnvironment
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const environment = {
    endpoint: endpointOf(env, problems),
    scope: scopeOf(env, problems),
    ca: caOf(env, problems),
    requestsPerSecond: paceOf(env, problems),
  }
  return { environment, problems }
}

function endpointOf(env: Variables, problems: Problem[]): string {
  const given = env.NODEROLL_AZURE_ENDPOINT
  if (!given) return PUBLIC_ENDPOINT
  const url = URL.canParse(given) ? new URL(given) : null
  const isPlain = url !== null && url.username === '' && url.search === '' && url.hash === ''
  if (url?.protocol === 'https:' && isPlain) return given.replace(/\/+$/, '')
  problems.push({
    where: 'NODEROLL_AZURE_ENDPOINT',
    what: 'is no https:// address without user and query',
    fix: `write it such as ${PUBLIC_ENDPOINT}`,
  })
  return PUBLIC_ENDPOINT
}

function scopeOf(env: Variables, problems: Problem[]): string | null {
  const given = env.NODEROLL_AZURE_SCOPE
  if (!given || /^\S+\/\.default$/.test(given)) return given || null
  problems.push({
    where: 'NODEROLL_AZURE_SCOPE',
    what: `${given} is no scope that a worker can have`,
    fix: `write it with /.default at its end, such as ${PUBLIC_ENDPOINT}/.default`,
  })
  return null
}

function caOf(env: Variables, problems: Problem[]): readonly string[] | null {
  const file = env.NODEROLL_AZURE_CA_FILE
  if (!file) return null
  try {
    const text = readFileSync(file, 'utf8')
    const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    if (certificates.length === 0) throw new Error('no certificate in PEM form is in it')
    for (const certificate of certificates) new X509Certificate(certificate)
    return [...rootCertificates, text]
  } catch (error) {
    problems.push({
      where: 'NODEROLL_AZURE_CA_FILE',
      what: `names ${file}, which cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      fix: 'name a file of certificates in PEM form that this process may read',
    })
    return null
  }
}

function paceOf(env: Variables, problems: Problem[]): number {
  const given = env.NODEROLL_AZURE_REQUESTS_PER_SECOND
  if (!given) return REQUESTS_PER_SECOND
  if (/^\d+(\.\d+)?$/.test(given) && Number(given) >= FEWEST_REQUESTS_PER_SECOND) return Number(given)
  problems.push({
    where: 'NODEROLL_AZURE_REQUESTS_PER_SECOND',
    what: `${given} is no pace to ask Azure at`,
    fix: `write a number, ${FEWEST_REQUESTS_PER_SECOND} or more`,
  })
  return REQUESTS_PER_SECOND
}
