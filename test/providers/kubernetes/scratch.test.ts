import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { kubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { waitUntil } from '../../support/wait.js'
import { json, standIn, writeKubeconfig } from './stand-in.js'
const isWatch = ({ path }: { path: string }) => path.includes('watch=true')
for (let i = 0; i < 60; i++)
  it(`n${i}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'noderoll-watch-'))
    const server = await standIn((path, outgoing) => {
      if (path.includes('watch=true')) outgoing.writeHead(200).flushHeaders()
      else json(outgoing, { metadata: { resourceVersion: '7' }, items: [] })
    })
    const api = new KubernetesApi(await writeKubeconfig(folder, { server: server.url }))
    const told: string[] = []
    const one = kubernetesCluster({ kind: 'inCluster', endpoints: [], namespace: 'x' }, api).watchNodes((n) => told.push(n.join() || 'gap'), null)
    await waitUntil(() => server.requests.some(isWatch), { for: 'the watch', timeoutMs: 3000 })
    await waitUntil(() => one.silentSeconds() < 60, { for: 'the answer', timeoutMs: 3000 })
    one.close()
    await waitUntil(async () => (await server.connections()) <= 1, { for: 'the connection to end', timeoutMs: 3000 })
    await api.close()
    await waitUntil(async () => (await server.connections()) === 0, { for: 'all connections to end', timeoutMs: 3000 })
    expect(told).toEqual(['gap'])
    expect(server.requests).toHaveLength(2)
    await server.stop()
    await rm(folder, { recursive: true })
  })
