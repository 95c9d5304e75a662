import { writeFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createProxy } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { Credentials } from '../../../src/providers/kubernetes/credentials.js'
import { type Certificate, selfSigned } from '../../support/certificates.js'
import { waitUntil } from '../../support/wait.js'
import { patient, portError } from './bed.js'
import { json, type StandIn, standIn, writeKubeconfig } from './stand-in.js'

const VERSION = { doing: 'read the version', method: 'GET', path: '/version' } as const

let folder: string
let closing: (() => unknown)[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'noderoll-credentials-'))
  closing = [() => rm(folder, { recursive: true })]
})

afterEach(async () => {
  for (const close of closing.reverse()) await close()
})

function open(access: ConstructorParameters<typeof KubernetesApi>[0]): KubernetesApi {
  const api = new KubernetesApi(access)
  closing.push(() => api.close())
  return api
}

async function serve(...[answer]: Parameters<typeof standIn>): Promise<StandIn> {
  const server = await standIn(answer)
  closing.push(() => server.stop())
  return server
}

/** An HTTPS server that tells who connects. */
async function secureServer(certificate: Certificate, clientCa = '') {
  const server = createServer(
    { ...certificate, ca: clientCa, requestCert: clientCa !== '', rejectUnauthorized: clientCa !== '' },
    (incoming, outgoing) => {
      json(outgoing, { subject: (incoming.socket as TLSSocket).getPeerCertificate().subject?.CN })
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

it('sends the token, and keeps its connections', async () => {
  const server = await serve((_, outgoing) => json(outgoing, {}))
  const api = open(await writeKubeconfig(folder, { server: server.url }))

  for (let n = 0; n < 20; n++) expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })

  expect(server.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer secret-token',
    'user-agent': 'noderoll',
  })
  expect(await server.connections()).toBeLessThanOrEqual(2)
})

it('reads the kubeconfig again when its token is no longer accepted', async () => {
  const server = await serve((_, outgoing, { headers }) =>
    json(outgoing, {}, headers.authorization === 'Bearer second' ? 200 : 401),
  )
  const access = await writeKubeconfig(folder, { server: server.url, user: { token: 'first' } })
  const api = open(access)
  expect(await api.call(VERSION, patient())).toMatchObject({ code: 401 })

  await writeKubeconfig(folder, { server: server.url, user: { token: 'second' } })

  expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })
})

it('K2 credentials that were accepted before may be renewed: their refusal is asked about again later', async () => {
  let code = 200
  const server = await serve((_, outgoing) => json(outgoing, {}, code))
  const api = open(await writeKubeconfig(folder, { server: server.url }))
  await api.call(VERSION, patient())

  code = 401
  await expect(api.call(VERSION, patient())).rejects.toEqual(
    portError('unreachable', /^Could not read the version: \S+ does not accept the credentials \(401\)\.$/),
  )
  code = 200

  expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })
})

/** A credentials plugin that counts how often it runs. */
async function plugin(script: string): Promise<{ user: object; runs: () => Promise<number> }> {
  const path = join(folder, 'plugin.sh')
  const log = join(folder, 'runs')
  await writeFile(log, '')
  await writeFile(path, `#!/bin/sh\necho run >> ${log}\n${script}\n`)
  await chmod(path, 0o755)
  return {
    user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: path } },
    runs: async () => (await readFile(log, 'utf8')).split('\n').length - 1,
  }
}

it('asks a plugin once for many requests', async () => {
  const server = await serve((_, outgoing) => json(outgoing, {}))
  const credential = JSON.stringify({ status: { token: 'from-plugin' } })
  const { user, runs } = await plugin(`echo '${credential}'`)
  const api = open(await writeKubeconfig(folder, { server: server.url, user }))

  await Promise.all(Array.from({ length: 20 }, () => api.call(VERSION, patient())))

  expect(server.requests).toHaveLength(20)
  expect(server.requests[19]?.headers.authorization).toBe('Bearer from-plugin')
  expect(await runs()).toBe(1)
})

// What it asks for a token may be out for a moment, as everything in a network: that is no answer of the cluster's, and
// taken for a final one it would end a rollout whose machine is off.
it('K2 a plugin that fails is named, asked again later, and what it printed is not told', async () => {
  const server = await serve((_, outgoing) => json(outgoing, {}))
  const credential = JSON.stringify({ status: { token: 'from-plugin' } })
  const { user } = await plugin(
    `[ -e ${folder}/works ] || { echo secret-token >&2; exit 1; }\necho '${credential}'`,
  )
  const api = open(await writeKubeconfig(folder, { server: server.url, user }))

  const called = api.call(VERSION, patient())

  await expect(called).rejects.toEqual(
    portError('unreachable', /^The plugin \S+plugin\.sh named by the kubeconfig/),
  )
  await expect(called).rejects.not.toThrow('secret')
  await writeFile(join(folder, 'works'), '')
  expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })
})

it('K2 a token file that is gone for a moment is read again later', async () => {
  const server = await serve((_, outgoing) => json(outgoing, {}))
  const tokenFile = join(folder, 'token')
  const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } }
  const api = open(await writeKubeconfig(folder, { server: server.url, user }))

  await expect(api.call(VERSION, patient())).rejects.toEqual(
    portError('unreachable', /^A file named by the kubeconfig gave no credentials/),
  )
  await writeFile(tokenFile, 'from-file')

  expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })
  expect(server.requests[0]?.headers.authorization).toBe('Bearer from-file')
})

it('K2 a kubeconfig that is half written when its token is no longer accepted is read again later', async () => {
  const path = join(folder, 'kubeconfig')
  const server = await serve((_, outgoing) => {
    writeFileSync(path, 'clusters: [')
    json(outgoing, {}, 401)
  })
  const api = open(await writeKubeconfig(folder, { server: server.url }))

  await expect(api.call(VERSION, patient())).rejects.toEqual(
    portError('unreachable', /^The kubeconfig .* is not a kubeconfig/),
  )
})

it('B35 a plugin that hangs is started anew for a later request', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  closing.push(() => vi.useRealTimers())
  const credential = JSON.stringify({ status: { token: 'from-plugin' } })
  const { user, runs } = await plugin(`[ -e ${folder}/works ] || exec cat\necho '${credential}'`)
  const credentials = new Credentials(await writeKubeconfig(folder, { server: 'http://127.0.0.1:1', user }))
  closing.push(() => credentials.close())
  const asked = credentials.session()
  const alsoAsked = credentials.session()
  await waitUntil(async () => (await runs()) === 1, { for: 'the plugin to run' })

  vi.advanceTimersByTime(60_000)

  const hangs = portError('unreachable', /^The plugin \S+plugin\.sh named by the kubeconfig has not ended/)
  await expect(asked).rejects.toEqual(hangs)
  await expect(alsoAsked).rejects.toEqual(hangs)
  await writeFile(join(folder, 'works'), '')
  expect(await credentials.session()).toMatchObject({ headers: { Authorization: 'Bearer from-plugin' } })
  expect(await runs()).toBe(2)
})

it('gives up when its caller does, whatever a plugin does', async () => {
  // Waits for input that never comes.
  const { user, runs } = await plugin('cat')
  const api = open(await writeKubeconfig(folder, { server: 'http://127.0.0.1:1', user }))
  const caller = new AbortController()
  const called = api.call(VERSION, caller.signal)
  await waitUntil(async () => (await runs()) === 1, { for: 'the plugin to run' })

  caller.abort(new Error('cancelled'))

  await expect(called).rejects.toThrow('cancelled')
})

it('shows a client certificate', async () => {
  const [ours, theirs] = await Promise.all([selfSigned('worker'), selfSigned('api')])
  const server = await secureServer(theirs, ours.cert)
  const user = { 'client-certificate-data': base64(ours.cert), 'client-key-data': base64(ours.key) }
  const cluster = { 'certificate-authority-data': base64(theirs.cert) }
  const api = open(await writeKubeconfig(folder, { server, cluster, user }))

  expect(JSON.parse((await api.call(VERSION, patient())).text)).toEqual({ subject: 'worker' })
})

it('does not talk to a server it cannot verify, even where the environment says not to mind', async () => {
  const [stranger, trusted] = await Promise.all([selfSigned('stranger'), selfSigned('trusted')])
  const server = await secureServer(stranger)
  const cluster = { 'certificate-authority-data': base64(trusted.cert) }
  const api = open(await writeKubeconfig(folder, { server, cluster }))
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'

  try {
    await expect(api.call(VERSION, patient())).rejects.toEqual(
      portError('refused', /its certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/),
    )
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  }
})

it('goes through the proxy that the kubeconfig names', async () => {
  const certificate = await selfSigned('api')
  const server = await secureServer(certificate)
  const tunnels: string[] = []
  const sockets: Socket[] = []
  const proxy = createProxy()
  proxy.on('connect', ({ url = '' }, client: Socket) => {
    tunnels.push(url)
    const upstream = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    sockets.push(client, upstream)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const cluster = {
    'certificate-authority-data': base64(certificate.cert),
    'proxy-url': `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
  }
  const api = open(await writeKubeconfig(folder, { server, cluster }))

  expect(await api.call(VERSION, patient())).toMatchObject({ code: 200 })
  expect(tunnels).toEqual([new URL(server).host])
})

it('an aborted request closes its connection', async () => {
  let isOpen = false
  const server = await serve((_, outgoing) => {
    isOpen = true
    outgoing.once('close', () => {
      isOpen = false
    })
  })
  const api = open(await writeKubeconfig(folder, { server: server.url }))
  const caller = new AbortController()
  const called = api.call(VERSION, caller.signal)
  await waitUntil(() => isOpen, { for: 'the request' })

  caller.abort(new Error('cancelled'))

  await expect(called).rejects.toThrow('cancelled')
  await waitUntil(() => !isOpen, { for: 'the connection to end' })
})

it('an answer that ends in the middle is none', async () => {
  const server = await serve((_, outgoing) => {
    outgoing.writeHead(200, { 'content-length': 1_000 }).write('{"metadata":')
    outgoing.destroy()
  })
  const api = open(await writeKubeconfig(folder, { server: server.url }))

  await expect(api.call(VERSION, patient())).rejects.toEqual(portError('unreachable', /connection closed/))
})
