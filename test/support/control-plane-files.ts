import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { selfSigned } from './certificates.js'

export const CONTROLLER_MANAGER = 'system:kube-controller-manager'
export const SCHEDULER = 'system:kube-scheduler'

/** Without groups a user may do only what RBAC gives him. */
export type User = string | { name: string; groups: string[] }

/** What the programs of a control plane read and write, beside etcd's. */
export interface Files {
  ca: string
  cert: string
  key: string
  tokens: Record<string, string>
  tokenFile: string
  serviceAccountKey: string
  auditPolicy: string
  auditLog: string
}

export async function writeFiles(folder: string, more: readonly User[]): Promise<Files> {
  const certificate = await selfSigned('kube-apiserver')
  const users = [
    { name: 'admin', groups: ['system:masters'] },
    { name: CONTROLLER_MANAGER, groups: ['system:masters'] },
    { name: SCHEDULER, groups: [] },
    ...more.map((user) => (typeof user === 'string' ? { name: user, groups: [] } : user)),
  ]
  const tokens = Object.fromEntries(users.map(({ name }) => [name, randomUUID()]))
  const tokenLines = users.map(
    ({ name, groups }) => `${tokens[name]},${name},${name},"${groups.join(',')}"\n`,
  )
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const write = async (name: string, text: string) => {
    const path = join(folder, name)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  return {
    ca: certificate.cert,
    cert: await write('apiserver.crt', certificate.cert),
    key: await write('apiserver.key', certificate.key),
    tokens,
    tokenFile: await write('tokens.csv', tokenLines.join('')),
    serviceAccountKey: await write('service-account.key', privateKey),
    auditPolicy: await write('audit-policy.json', JSON.stringify(AUDIT_POLICY)),
    auditLog: await write('audit.log', ''),
  }
}

/** What is written is kept word for word, except the kubelets' constant reports; of reads, that they happened. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [
    { level: 'Metadata', userGroups: ['system:nodes'] },
    { level: 'Request', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
    { level: 'Metadata' },
  ],
}
