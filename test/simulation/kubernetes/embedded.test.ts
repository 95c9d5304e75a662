import { readFile } from 'node:fs/promises'
import { AppsV1Api, CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node'
import { afterEach, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { CertificateAuthority } from '../../../src/simulation/kubernetes/certificate.js'
import {
  type EmbeddedKubernetes,
  type EmbeddedKubernetesOptions,
  startEmbeddedKubernetes,
} from '../../../src/simulation/kubernetes/embedded-kubernetes.js'
import { KubeApi, type KubeObject } from '../../support/kube-api.js'
import { waitUntil } from '../../support/wait.js'
import { NODES } from './conformance.js'

const RBAC_FILE = new URL('../../../deploy/rbac.yaml', import.meta.url)

let embedded: EmbeddedKubernetes
const opened: KubeApi[] = []

afterEach(async () => {
  for (const api of opened.splice(0)) api.close()
  await embedded.close()
})

const start = async (options: EmbeddedKubernetesOptions = {}) => {
  embedded = await startEmbeddedKubernetes(options)
}

const apiOf = (user = 'admin') => {
  const api = new KubeApi({ url: embedded.url, ca: embedded.ca, token: embedded.token(user) })
  opened.push(api)
  return api
}

it('is there in an instant, with what every cluster has', async () => {
  const before = process.cpuUsage()
  await start()
  const { items } = await apiOf().ok('GET', '/api/v1/namespaces')
  // Of its own time: others are at work on this machine.
  const { user, system } = process.cpuUsage(before)

  expect((user + system) / 1000).toBeLessThan(300)
  expect(items.map(({ metadata }: KubeObject) => metadata.name)).toEqual([
    'default',
    'kube-node-lease',
    'kube-public',
    'kube-system',
  ])
  expect(items.every(({ metadata }: KubeObject) => metadata.uid)).toBe(true)
})

it('serves the clients that others use, by its kubeconfig alone', async () => {
  await start({ users: [{ name: 'kubelet', groups: ['system:masters'] }] })
  const config = new KubeConfig()
  config.loadFromString(embedded.kubeconfig({ user: 'kubelet', name: 'demo' }))
  const core = config.makeApiClient(CoreV1Api)
  const seen: string[] = []
  const watching = await new Watch(config).watch(
    NODES,
    {},
    (type, { metadata }: KubeObject) => seen.push(`${type} ${metadata.name}`),
    () => undefined,
  )

  await core.createNode({ body: { metadata: { name: 'n-1' } } })
  const { items } = await core.listNode()
  const deployments = await config.makeApiClient(AppsV1Api).listDeploymentForAllNamespaces()

  expect(config.currentContext).toBe('demo')
  expect(items.map(({ metadata }) => metadata?.name)).toEqual(['n-1'])
  expect(deployments.items).toEqual([])
  await waitUntil(() => seen.includes('ADDED n-1'), { for: 'the watch' })
  watching.abort()
})

it('takes rules as they are deployed, for a service account too', async () => {
  const documents = parseAllDocuments(await readFile(RBAC_FILE, 'utf8'))
  await start({
    users: [{ name: 'system:serviceaccount:noderoll:noderoll' }, { name: 'other' }],
    objects: documents.map((document) => document.toJS()),
  })

  expect((await apiOf('system:serviceaccount:noderoll:noderoll').call('GET', NODES)).status).toBe(200)
  expect((await apiOf('other').call('GET', NODES)).status).toBe(403)
})

it('keeps its port and its objects while it is down, and forgets what happened', async () => {
  await start()
  const { url } = embedded
  const api = apiOf()
  const { metadata } = await api.ok('POST', NODES, { metadata: { name: 'n-1' } })

  await embedded.down()
  await expect(api.call('GET', NODES)).rejects.toThrow()
  await embedded.up()

  expect(embedded.url).toBe(url)
  expect((await api.ok('GET', `${NODES}/n-1`)).metadata.uid).toBe(metadata.uid)
  const events = api.watch(`${NODES}?resourceVersion=${metadata.resourceVersion}`)
  expect((await events.next()).value).toMatchObject({
    type: 'ERROR',
    object: {
      kind: 'Status',
      reason: 'Expired',
      code: 410,
      message: expect.stringMatching(/^too old resource/),
    },
  })
})

it('tells who is too far behind to begin anew', async () => {
  await start({ historyKept: 10 })
  const api = apiOf()
  const { metadata } = await api.ok('POST', NODES, { metadata: { name: 'n-1' } })
  const first = await api.ok('GET', '/api/v1/namespaces?limit=1')
  for (let n = 0; n < 30; n++) {
    await api.ok('PATCH', `${NODES}/n-1`, { metadata: { labels: { n: String(n) } } })
  }

  const events = api.watch(`${NODES}?resourceVersion=${metadata.resourceVersion}`)
  const next = (first.metadata as unknown as { continue: string }).continue
  const page = await api.call('GET', `/api/v1/namespaces?limit=1&continue=${next}`)

  expect((await events.next()).value).toMatchObject({
    type: 'ERROR',
    object: { code: 410, reason: 'Expired' },
  })
  expect((await events.next()).done).toBe(true)
  expect(page).toMatchObject({
    status: 410,
    body: { reason: 'Expired', message: expect.stringMatching(/continue parameter is too old/) },
  })
})

it('makes nothing that nobody would act on', async () => {
  await start()

  expect(await apiOf().call('POST', '/apis/batch/v1/namespaces/default/jobs', {})).toMatchObject({
    status: 405,
  })
  expect(await apiOf().list('/apis/batch/v1/jobs')).toEqual([])
})

it('two of them know nothing of each other', async () => {
  await start()
  const other = await startEmbeddedKubernetes()
  const stranger = new KubeApi({ url: embedded.url, ca: embedded.ca, token: other.token('admin') })
  const trusting = new KubeApi({ url: embedded.url, ca: other.ca, token: embedded.token('admin') })
  opened.push(stranger, trusting)

  expect((await stranger.call('GET', NODES)).status).toBe(401)
  await expect(trusting.call('GET', NODES)).rejects.toThrow(/certificate|signature/)
  await other.close()
})

it('a certificate names the hosts it is for', async () => {
  await start()
  const authority = new CertificateAuthority('test')
  const { cert, key } = authority.issue('server', ['10.1.2.3', 'server.example'])

  expect(cert).toMatch(/^-----BEGIN CERTIFICATE-----\n[\s\S]+\n-----END CERTIFICATE-----\n$/)
  expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  const { X509Certificate } = await import('node:crypto')
  const certificate = new X509Certificate(cert)
  expect(certificate.checkIP('10.1.2.3')).toBe('10.1.2.3')
  expect(certificate.checkHost('server.example')).toBe('server.example')
  expect(certificate.checkHost('other.example')).toBeUndefined()
  expect(certificate.verify(new X509Certificate(authority.cert).publicKey)).toBe(true)
})
