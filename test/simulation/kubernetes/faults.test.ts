import { afterEach, describe, expect, it } from 'vitest'
import { waitUntil } from '../../support/wait.js'
import { CONTAINER, conditionOf, NODES, onBoth, PODS } from './conformance.js'

onBoth('faults', (cluster) => {
  afterEach(async () => {
    cluster().kube.apiServer.resume()
    cluster().kube.etcd.resume()
    cluster().kube.controllerManager.resume()
    await cluster().clean()
  })

  const soon = () => ({ signal: AbortSignal.timeout(500) })
  const list = () => cluster().api.call('GET', NODES, undefined, soon())

  it('a hung API server answers nobody, and everybody afterwards', async () => {
    await cluster().addNode('n-1')
    const fresh = cluster().kube.apiOf('admin')
    const told: string[] = []
    const controller = new AbortController()
    const watching = (async () => {
      for await (const { type, object } of cluster().api.watch(NODES, controller.signal)) {
        told.push(`${type} ${object.metadata.name}`)
      }
    })().catch(() => undefined)
    await waitUntil(() => told.includes('ADDED n-1'), { for: 'the watch' })

    cluster().kube.apiServer.pause()
    await expect(list()).rejects.toThrow(/abort/i)
    await expect(fresh.call('GET', NODES, undefined, soon())).rejects.toThrow(/abort/i)
    const late = cluster().api.call('POST', NODES, { metadata: { name: 'n-2' } })
    await expect(list()).rejects.toThrow(/abort/i)
    expect(told.filter((event) => event.includes('n-2'))).toEqual([])
    cluster().kube.apiServer.resume()

    expect(await late).toMatchObject({ status: 201 })
    await waitUntil(() => told.includes('ADDED n-2'), { for: 'the event' })
    controller.abort()
    await watching
    fresh.close()
  })

  it('a dead API server refuses connections, breaks watches, and has everything when it is back', async () => {
    const { metadata } = await cluster().addNode('n-1')
    const before = await cluster().get(`${NODES}?limit=1`)
    let ended = ''
    const watching = (async () => {
      const path = `${NODES}?resourceVersion=${before.metadata.resourceVersion}`
      for await (const _ of cluster().api.watch(path)) ended = 'told'
      ended = 'ended'
    })().catch((error: unknown) => {
      ended = String(error)
    })

    await cluster().kube.apiServer.kill()
    await expect(cluster().api.call('GET', NODES)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|hang up/)
    await watching
    await cluster().kube.apiServer.restart()

    expect(ended).not.toBe('told')
    expect((await cluster().get(`${NODES}/n-1`)).metadata.uid).toBe(metadata.uid)
  })

  it('what an API server had not answered when it died was never done', async () => {
    await cluster().addNode('n-1')
    cluster().kube.apiServer.pause()
    const lost = cluster().api.call('PATCH', `${NODES}/n-1`, { metadata: { labels: { late: '1' } } })
    const failed = expect(lost).rejects.toThrow(/ECONNRESET|hang up|aborted/)
    // Who asks later is left waiting: the patch has been sent by then.
    await expect(list()).rejects.toThrow(/abort/i)

    await cluster().kube.apiServer.kill()
    await failed
    await cluster().kube.apiServer.restart()

    expect((await cluster().get(`${NODES}/n-1`)).metadata.labels).not.toHaveProperty('late')
  })

  it('held-up controllers do nothing, and catch up', async () => {
    await cluster().addNode('n-1')
    cluster().kube.controllerManager.pause()
    await cluster().ok('PATCH', `${NODES}/n-1`, { spec: { unschedulable: true } })
    // A pod without a place tells that others have seen the cordon; one made before that gets a place.
    const placed = async (name: string) => {
      await cluster().ok('POST', PODS, { metadata: { name }, spec: { containers: [CONTAINER] } })
      const pod = await cluster().until(
        `${PODS}/${name}`,
        'be looked at by the scheduler',
        (pod) => conditionOf(pod, 'PodScheduled') !== undefined,
      )
      return conditionOf(pod, 'PodScheduled')
    }
    let pods = 0
    await waitUntil(async () => (await placed(`web-${pods++}`))?.reason === 'Unschedulable', {
      for: 'a pod that has no place',
    })
    expect((await cluster().get(`${NODES}/n-1`)).spec).toEqual({ unschedulable: true })

    cluster().kube.controllerManager.resume()

    const { spec } = await cluster().until(
      `${NODES}/n-1`,
      'be tainted',
      (node) => node.spec.taints !== undefined,
    )
    expect(spec.taints).toMatchObject([{ key: 'node.kubernetes.io/unschedulable' }])
  })

  describe('without its storage', () => {
    it('nothing can be read or written, the API is there, and not ready', async () => {
      cluster().kube.etcd.pause()
      const notReady = await waitUntil(
        async () => {
          // The last answer is given for a second.
          const answer = await cluster().call('GET', '/readyz/etcd')
          return answer.status !== 200 && answer
        },
        { for: 'the API server to notice', timeoutMs: 15_000 },
      )

      expect(notReady).toMatchObject({
        status: 500,
        text: expect.stringMatching(/^internal server error: .*etcd/),
      })
      expect(await cluster().call('GET', '/readyz')).toMatchObject({
        status: 500,
        text: expect.stringMatching(/\[-\]etcd failed: reason withheld[\s\S]*readyz check failed/),
      })
      expect((await cluster().call('GET', '/version')).status).toBe(200)
      await expect(list()).rejects.toThrow(/abort/i)
      cluster().kube.etcd.resume()
      const ready = async () => (await cluster().call('GET', '/readyz')).status === 200
      await waitUntil(ready, { for: 'it to be ready again', timeoutMs: 20_000 })
    })
  })
})
