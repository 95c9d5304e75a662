import { PODS } from '../kinds/pod.js'
import { apiVersionOf, type Resource } from '../objects/resource.js'
import { RESOURCES } from '../objects/resources.js'

/** The release whose behaviour is played. */
const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.0' }

/** What a path says about the API itself; null when there is no such path. */
export function discover(path: string, host: string): object | null {
  const [root = '', group = '', version = '', ...rest] = path.split('/').filter((word) => word !== '')
  if (rest.length > 0) return null
  if (path === '/version' || path === '/version/') {
    return { ...VERSION, gitCommit: '', gitTreeState: 'clean', buildDate: '', platform: 'linux/amd64' }
  }
  if (root === 'api' && version === '') {
    return group === '' ? coreVersions(host) : resourceList('', group)
  }
  if (root !== 'apis') return null
  if (group === '') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups().map(groupOf) }
  if (!groups().includes(group)) return null
  return version === ''
    ? { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) }
    : resourceList(group, version)
}

function coreVersions(host: string): object {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress: host }]
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs }
}

function groups(): string[] {
  return [...new Set(RESOURCES.map(({ group }) => group))].filter((group) => group !== '')
}

function groupOf(name: string): object {
  const [first] = RESOURCES.filter(({ group }) => group === name)
  const version = first?.version ?? 'v1'
  const preferredVersion = { groupVersion: `${name}/${version}`, version }
  return { name, versions: [preferredVersion], preferredVersion }
}

function resourceList(group: string, version: string): object | null {
  const found = RESOURCES.filter((resource) => resource.group === group && resource.version === version)
  const [first] = found
  if (first === undefined) return null
  const resources = found.flatMap(entriesOf)
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(first), resources }
}

function entriesOf(resource: Resource): object[] {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = resource
  const whole = {
    ...{ name: plural, singularName: singular, namespaced, kind, verbs },
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  }
  const under = (name: string, more: object) => ({
    ...{ name: `${plural}/${name}`, singularName: '', namespaced },
    ...more,
  })
  return [
    whole,
    ...(resource.hasStatus ? [under('status', { kind, verbs: ['get', 'patch', 'update'] })] : []),
    // kubectl looks for these before it drains.
    ...(resource.plural === PODS.plural
      ? [
          under('binding', { kind: 'Binding', verbs: ['create'] }),
          under('eviction', { group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] }),
        ]
      : []),
  ]
}
