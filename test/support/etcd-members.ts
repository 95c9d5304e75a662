import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { ensureControlPlane } from '../../scripts/control-plane.mjs'
import { type Certificate, selfSigned } from './certificates.js'
import { freePort } from './ports.js'
import { type ManagedProcess, ProcessGroup } from './processes.js'
import { waitUntil } from './wait.js'

export interface RealMember {
  readonly name: string
  readonly clientUrl: string
  readonly metricsUrl: string
  readonly process: ManagedProcess
}

/** Real etcd members that talk TLS to clients with a certificate only. */
export class EtcdMembers {
  readonly members: readonly RealMember[]
  /** Paths: the CA, and a client certificate with its key. */
  readonly files: { readonly caFile: string; readonly certFile: string; readonly keyFile: string }
  readonly #processes: ProcessGroup
  readonly #agent: Agent

  private constructor(
    members: readonly RealMember[],
    files: EtcdMembers['files'],
    processes: ProcessGroup,
    certificate: Certificate,
  ) {
    this.members = members
    this.files = files
    this.#processes = processes
    this.#agent = new Agent({
      connect: { ca: certificate.cert, cert: certificate.cert, key: certificate.key },
    })
  }

  /** Starts so many; `etcd-1` and so on, which is not what the spec calls their machines. */
  static async start(count: number): Promise<EtcdMembers> {
    const { dir } = await ensureControlPlane()
    const processes = new ProcessGroup('etcd')
    // Self-signed, so it is its own CA, and good for servers and clients alike.
    const certificate = await selfSigned('etcd')
    const file = async (name: string, text: string) => {
      const path = join(processes.folder, name)
      await writeFile(path, text, { mode: 0o600 })
      return path
    }
    const certFile = await file('etcd.crt', certificate.cert)
    const files = { caFile: certFile, certFile, keyFile: await file('etcd.key', certificate.key) }
    const addresses: { name: string; client: string; peer: string; metrics: string }[] = []
    for (let n = 1; n <= count; n++) {
      addresses.push({
        name: `etcd-${n}`,
        client: `https://127.0.0.1:${await freePort()}`,
        peer: `http://127.0.0.1:${await freePort()}`,
        metrics: `http://127.0.0.1:${await freePort()}`,
      })
    }
    const cluster = addresses.map(({ name, peer }) => `${name}=${peer}`).join(',')
    const members = await Promise.all(
      addresses.map(async ({ name, client, peer, metrics }) => ({
        name,
        clientUrl: client,
        metricsUrl: metrics,
        process: await processes.start({
          name,
          program: join(dir, 'etcd'),
          args: [
            ...['--name', name, '--data-dir', join(processes.folder, `${name}.data`), '--unsafe-no-fsync'],
            ...['--listen-client-urls', client, '--advertise-client-urls', client],
            ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
            ...['--listen-metrics-urls', metrics, '--initial-cluster', cluster, '--log-level', 'warn'],
            ...['--cert-file', files.certFile, '--key-file', files.keyFile],
            ...['--client-cert-auth', '--trusted-ca-file', files.caFile],
            // A busy machine is no reason to elect another leader.
            ...['--heartbeat-interval', '300', '--election-timeout', '3000'],
          ],
          ready: async () => {
            await waitUntil(async () => (await fetch(`${metrics}/health`)).ok, {
              for: `${name} to be healthy`,
            })
          },
        }),
      })),
    )
    return new EtcdMembers(members, files, processes, certificate)
  }

  /** A call of etcd's HTTP gateway, to the first member unless told otherwise. */
  async call(path: string, body: object, member = this.members[0]): Promise<Record<string, unknown>> {
    const answer = await request(`${member?.clientUrl}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      dispatcher: this.#agent,
    })
    if (answer.statusCode !== 200)
      throw new Error(`${path}: ${answer.statusCode} ${await answer.body.text()}`)
    return (await answer.body.json()) as Record<string, unknown>
  }

  async stop(): Promise<void> {
    await this.#agent.destroy()
    await this.#processes.stop()
  }
}
