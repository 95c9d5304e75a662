import { join } from 'node:path'
import type { PeerNetwork } from './peer-network.js'
import { freePort } from './ports.js'
import type { ManagedProcess, ProcessGroup } from './processes.js'
import { waitUntil } from './wait.js'

/** So many members of one etcd, without TLS, each with its metrics at a URL of their own. */
export async function startEtcd(
  processes: ProcessGroup,
  program: string,
  { etcdMembers: count = 1, network }: { etcdMembers?: number; network?: PeerNetwork },
): Promise<{ endpoints: string[]; metrics: string[]; etcd: ManagedProcess[] }> {
  const members: Member[] = []
  for (let n = 1; n <= count; n++) members.push(await memberOf(n, network))
  const cluster = members.map(({ name, advertised }) => `${name}=${advertised}`).join(',')
  const start = members.map(({ name, client, metrics, peer, advertised, env }) =>
    processes.start({
      name,
      program,
      env,
      args: [
        ...['--name', name, '--data-dir', join(processes.folder, `${name}.data`), '--unsafe-no-fsync'],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', advertised],
        ...['--listen-metrics-urls', metrics, '--initial-cluster', cluster, '--log-level', 'warn'],
        // Who leads is for a test to say, not for a machine that is short of time.
        ...(count > 1 ? ['--heartbeat-interval', '300', '--election-timeout', '3000'] : []),
      ],
      ready: async () => {
        await waitUntil(async () => (await fetch(`${client}/health`)).ok, {
          for: `${name} to be healthy`,
          timeoutMs: 60_000,
        })
      },
    }),
  )
  return {
    endpoints: members.map(({ client }) => client),
    metrics: members.map(({ metrics }) => metrics),
    etcd: await Promise.all(start),
  }
}

interface Member {
  name: string
  client: string
  metrics: string
  /** Where it listens, and what the others call that. */
  peer: string
  advertised: string
  env: NodeJS.ProcessEnv
}

async function memberOf(number: number, network: PeerNetwork | undefined): Promise<Member> {
  const url = async () => `http://127.0.0.1:${await freePort()}`
  const [client, metrics, peer] = [await url(), await url(), await url()]
  const joined = await network?.join(number, Number(new URL(peer).port))
  return {
    ...{ name: `etcd-${number}`, client, metrics, peer },
    ...{ advertised: joined?.url ?? peer, env: { ...process.env, ...joined?.env } },
  }
}
