import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { KubernetesAccess } from '../../../src/core/spec.js'
import { loadKubeConfig } from '../../../src/providers/kubernetes/kubeconfig.js'
import { portError } from './bed.js'

const ENVIRONMENT = ['KUBECONFIG', 'HOME', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']
const saved = Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]]))

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'noderoll-kubeconfig-'))
  for (const name of ENVIRONMENT) delete process.env[name]
  process.env.HOME = folder
})

afterEach(async () => {
  for (const [name, value] of Object.entries(saved)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  await rm(folder, { recursive: true })
})

const TWO_CLUSTERS = {
  'current-context': 'eu',
  clusters: [
    { name: 'eu', cluster: { server: 'https://eu.example.org:6443' } },
    { name: 'us', cluster: { server: 'https://us.example.org:6443' } },
    { name: 'lax', cluster: { server: 'https://lax.example.org', 'insecure-skip-tls-verify': true } },
    { name: 'clear', cluster: { server: 'http://clear.example.org' } },
    { name: 'here', cluster: { server: 'http://127.0.0.1:8001' } },
    { name: 'odd', cluster: { server: 'eu.example.org' } },
    { name: 'open', cluster: { server: 'https://me:secret@eu.example.org' } },
  ],
  users: [{ name: 'me', user: { token: 'secret' } }],
  contexts: [
    ...['eu', 'us', 'lax', 'clear', 'here', 'odd', 'open'].map((name) => ({
      name,
      context: { cluster: name, user: 'me' },
    })),
    { name: 'nobody', context: { cluster: 'eu', user: 'gone' } },
    { name: 'nowhere', context: { cluster: 'gone', user: 'me' } },
  ],
}

async function file(content: string): Promise<string> {
  const path = join(folder, 'file')
  await writeFile(path, content)
  return path
}

function accessTo(path: string | null, context: string | null = null): KubernetesAccess {
  return { kind: 'kubeconfig', path, context, endpoints: [], namespace: 'kube-system' }
}

describe('a kubeconfig', () => {
  it.each([
    ['its current context', null, 'https://eu.example.org:6443'],
    ['another one', 'us', 'https://us.example.org:6443'],
    ['plain HTTP, only to this machine', 'here', 'http://127.0.0.1:8001'],
  ])('gives the server of %s', async (_, context, server) => {
    const config = loadKubeConfig(accessTo(await file(stringify(TWO_CLUSTERS)), context))

    expect(config.getCurrentCluster()).toMatchObject({ server })
  })

  it('is found by KUBECONFIG', async () => {
    process.env.KUBECONFIG = await file(stringify(TWO_CLUSTERS))

    expect(loadKubeConfig(accessTo(null)).getCurrentCluster()).toMatchObject({ name: 'eu' })
  })

  it.each([
    ['a context it does not have', 'asia', /has no context asia\.$/],
    ['no verification', 'lax', /insecure-skip-tls-verify, and noderoll always verifies/],
    ['plain HTTP over the network', 'clear', /clear\.example\.org would be reached over plain HTTP/],
    ['a server that is no URL', 'odd', /"eu\.example\.org" is not the URL of an API server/],
    ['credentials in the URL', 'open', /credentials belong in the kubeconfig/],
    ['a user it does not have', 'nobody', /context nobody has no user/],
    ['a cluster it does not have', 'nowhere', /no current context with a cluster/],
  ])('is refused with %s, without telling a secret', async (_, context, message) => {
    const path = await file(stringify(TWO_CLUSTERS))

    const refused = refusal(() => loadKubeConfig(accessTo(path, context)))

    expect(refused).toEqual(portError('refused', message))
    expect(String(refused)).not.toMatch(/secret/)
  })

  it.each([
    ['missing', null, /cannot be read \(ENOENT\)\.$/],
    ['no YAML', 'users: [{ name: me, user: { token: "secret', /is not a kubeconfig\.$/],
    ['empty', '', /is not a kubeconfig\.$/],
    ['a list', '- secret', /no current context/],
    ['an entry without a name', stringify({ clusters: [{ cluster: {} }] }), /is not a kubeconfig\.$/],
  ])('is refused when it is %s, without telling a secret', async (_, content, message) => {
    const path = content === null ? join(folder, 'missing') : await file(content)

    const refused = refusal(() => loadKubeConfig(accessTo(path)))

    expect(refused).toEqual(portError('refused', message))
    expect(String(refused)).not.toMatch(/secret/)
  })

  it('is refused when there is none anywhere', () => {
    expect(refusal(() => loadKubeConfig(accessTo(null)))).toEqual(
      portError('refused', /neither KUBECONFIG nor ~\/\.kube\/config/),
    )
  })
})

describe('in a cluster', () => {
  const inCluster: KubernetesAccess = { kind: 'inCluster', endpoints: [], namespace: 'kube-system' }

  it('is where the service account says', () => {
    process.env.KUBERNETES_SERVICE_HOST = 'fd00::1'
    process.env.KUBERNETES_SERVICE_PORT = '443'

    const config = loadKubeConfig(inCluster)

    expect(config.getCurrentCluster()).toMatchObject({
      server: 'https://[fd00::1]:443',
      skipTLSVerify: false,
    })
  })

  it('is refused outside of one', () => {
    expect(refusal(() => loadKubeConfig(inCluster))).toEqual(portError('refused', /does not run in a pod/))
  })
})

function refusal(load: () => unknown): unknown {
  try {
    load()
  } catch (error) {
    return error
  }
  return 'it was not refused'
}
