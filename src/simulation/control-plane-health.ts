import type {
  CloudState,
  SimulatedCloudCluster,
  SimulatedEtcdMember,
  SimulatedMachine,
} from './cloud-state.js'

/** What a member or API server says over HTTP; null: nobody is there, the connection breaks. */
export type HealthAnswer = { readonly status: number; readonly body: unknown } | null

interface MemberMachine extends SimulatedMachine {
  readonly etcd: SimulatedEtcdMember
}

/** Has the machine been up long enough for its services to answer? */
function hasBooted(state: CloudState, machine: SimulatedMachine, extraMs = 0): boolean {
  if (machine.power !== 'running' || machine.upSince === null) return false
  return Date.now() >= machine.upSince + state.delays.bootMs + extraMs
}

/** The member list, as any member that runs would give it. */
export function memberList(state: CloudState, cluster: SimulatedCloudCluster): HealthAnswer {
  const machines = membersOf(state, cluster)
  if (!machines.some((machine) => memberUp(state, machine))) return null
  const members = machines
    .filter((machine) => machine.etcd.listed)
    .map((machine) => ({
      ID: machine.etcd.id,
      name: machine.name,
      isLearner: machine.etcd.learner,
      machine: machine.id,
    }))
  return { status: 200, body: { members } }
}

/** Like etcd's `/health`: 503 and `"false"` when the member is sick or knows no leader. */
export function etcdHealth(
  state: CloudState,
  cluster: SimulatedCloudCluster,
  machine: SimulatedMachine,
): HealthAnswer {
  if (!isMember(machine) || !memberUp(state, machine)) return null
  if (!machine.etcd.healthy) return sick(machine.etcd.reason)
  if (leaderOf(state, cluster) === null) return sick('RAFT NO LEADER')
  return { status: 200, body: { health: 'true', reason: '' } }
}

/** Like etcd's maintenance status: 64-bit numbers as text. */
export function etcdStatus(
  state: CloudState,
  cluster: SimulatedCloudCluster,
  machine: SimulatedMachine,
): HealthAnswer {
  if (!isMember(machine) || !memberUp(state, machine)) return null
  const leader = leaderOf(state, cluster)
  cluster.etcdIndex += 1
  const index = String(Math.max(0, cluster.etcdIndex - machine.etcd.lag))
  return {
    status: 200,
    body: {
      header: { member_id: machine.etcd.id, raft_term: String(cluster.etcdTerm) },
      leader: leader?.etcd.id ?? '0',
      raftIndex: index,
      raftAppliedIndex: index,
      isLearner: machine.etcd.learner,
    },
  }
}

/** Like `/readyz` of the API server on this machine, which needs an etcd with a leader. */
export function apiServerReady(
  state: CloudState,
  cluster: SimulatedCloudCluster,
  machine: SimulatedMachine,
): HealthAnswer {
  if (machine.apiServer === null || !hasBooted(state, machine)) return null
  if (!machine.apiServer.ready) return { status: 500, body: machine.apiServer.reason }
  if (membersOf(state, cluster).length > 0 && leaderOf(state, cluster) === null) {
    return { status: 500, body: '[-]etcd failed: reason withheld\nreadyz check failed' }
  }
  return { status: 200, body: 'ok' }
}

/** Like a transfer of the leadership: only to a voter that is up and has everything. */
export function moveLeader(state: CloudState, cluster: SimulatedCloudCluster, to: unknown): HealthAnswer {
  if (leaderOf(state, cluster) === null) return null
  const heir = membersOf(state, cluster).find((machine) => machine.etcd.id === to)
  const isFit =
    heir !== undefined &&
    memberUp(state, heir) &&
    heir.etcd.listed &&
    !heir.etcd.learner &&
    heir.etcd.healthy &&
    heir.etcd.lag === 0
  if (!isFit) return { status: 400, body: 'etcdserver: bad leader transferee' }
  cluster.etcdLeader = heir.etcd.id
  cluster.etcdTerm += 1
  return { status: 200, body: {} }
}

/** The leader moves when it goes down; without a majority of voters there is none. */
function leaderOf(state: CloudState, cluster: SimulatedCloudCluster): MemberMachine | null {
  const voters = membersOf(state, cluster).filter(({ etcd }) => etcd.listed && !etcd.learner)
  const up = voters.filter((machine) => memberUp(state, machine))
  if (up.length < Math.floor(voters.length / 2) + 1) {
    cluster.etcdLeader = null
    return null
  }
  const still = up.find((machine) => machine.etcd.id === cluster.etcdLeader)
  if (still !== undefined) return still
  const next = up.find((machine) => machine.etcd.healthy && machine.etcd.lag === 0) ?? up[0] ?? null
  cluster.etcdLeader = next?.etcd.id ?? null
  cluster.etcdTerm += 1
  return next
}

function membersOf(state: CloudState, cluster: SimulatedCloudCluster): MemberMachine[] {
  return Object.values(state.machines)
    .filter(isMember)
    .filter((machine) => machine.cluster === cluster.name)
}

function isMember(machine: SimulatedMachine): machine is MemberMachine {
  return machine.etcd !== null
}

function memberUp(state: CloudState, machine: MemberMachine): boolean {
  return hasBooted(state, machine, machine.etcd.joinMs)
}

function sick(reason: string): HealthAnswer {
  return { status: 503, body: { health: 'false', reason } }
}
