import { stringify } from 'yaml'

export interface KubeconfigOptions {
  server: string
  /** PEM. */
  ca: string
  token: string
  user: string
  context?: string
}

/** A kubeconfig with one context, named `test` unless told otherwise. */
export function kubeconfigText({ server, ca, token, user, context = 'test' }: KubeconfigOptions): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [
      {
        name: context,
        cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: context, context: { cluster: context, user } }],
  })
}
