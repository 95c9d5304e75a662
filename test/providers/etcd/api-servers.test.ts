import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ControlPlane as Plane } from '../../../src/ports/etcd.js'
import { etcdApiServerControlPlane } from '../../../src/providers/etcd/control-planes.js'
import { etcdApiServerOptions } from '../../../src/providers/etcd/schema.js'
import { selfSigned } from '../../support/certificates.js'
import { type ControlPlane, startControlPlane } from '../../support/control-plane.js'
import { freePort } from '../../support/ports.js'
import { waitUntil } from '../../support/wait.js'

const QUIET = AbortSignal.timeout(600_000)

let kube: ControlPlane
let plane: Plane

beforeAll(async () => {
  kube = await startControlPlane({ controllerManager: false, scheduler: false })
  const apiServerCaFile = join(kube.access.folder, 'ca.crt')
  await writeFile(apiServerCaFile, kube.access.ca)
  const nobody = `https://127.0.0.1:${await freePort()}`
  plane = etcdApiServerControlPlane(
    etcdApiServerOptions.parse({ apiServers: [`cp1=${kube.url}`, `cp2=${nobody}`], apiServerCaFile }),
    { controlPlanePods: async () => [] },
  )
}, 60_000)
afterAll(() => kube.stop())

describe('etcd through the API servers beside its members', () => {
  it('CKS-13 a member is healthy when its API server says so, and unknown when that is silent', async () => {
    expect(await plane.members(QUIET)).toMatchObject({
      kind: 'members',
      members: [
        { name: 'cp1', health: 'healthy', caughtUp: true, learner: false },
        { name: 'cp2', health: 'unknown', caughtUp: false },
      ],
    })
    expect(await plane.handOverFrom('cp1', QUIET)).toMatchObject({ kind: 'cannot' })
  })

  it('CKS-18 an API server that answers is ready, a silent one and one nobody named are unknown', async () => {
    expect(await plane.apiServer('cp1', QUIET)).toEqual({ kind: 'ok' })
    expect(await plane.apiServer('cp2', QUIET)).toMatchObject({ kind: 'unknown' })
    expect(await plane.apiServer('cp3', QUIET)).toEqual({
      kind: 'unknown',
      why: 'nothing says where the API server of cp3 is',
    })
  })

  it('CKS-18 an API server that cannot be verified is unknown, even where the environment says not to mind', async () => {
    const apiServerCaFile = join(kube.access.folder, 'stranger.crt')
    await writeFile(apiServerCaFile, (await selfSigned('stranger')).cert)
    const trusting = etcdApiServerControlPlane(
      etcdApiServerOptions.parse({ apiServers: [`cp1=${kube.url}`], apiServerCaFile }),
      { controlPlanePods: async () => [] },
    )
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'

    try {
      expect(await trusting.apiServer('cp1', QUIET)).toMatchObject({
        kind: 'unknown',
        why: expect.stringMatching(/certificate/),
      })
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    }
  })

  it('CKS-13 a member that hangs is unhealthy, by its API server’s word', async () => {
    const [member] = kube.etcd
    member?.pause()
    try {
      const view = await waitUntil(
        async () => {
          const now = await plane.members(QUIET)
          return now.kind === 'members' && now.members[0]?.health !== 'healthy' && now
        },
        { for: 'the API server to notice' },
      )

      expect(view.members[0]).toMatchObject({ name: 'cp1', caughtUp: false })
      expect(await plane.apiServer('cp1', QUIET)).not.toEqual({ kind: 'ok' })
    } finally {
      member?.resume()
    }
  })
})
