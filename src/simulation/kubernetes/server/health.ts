const ENDPOINTS = ['/healthz', '/livez', '/readyz']
const CHECKS = ['ping', 'log', 'etcd']

export interface Health {
  readonly code: 200 | 500
  readonly text: string
}

/** What a health endpoint says, or one of its checks; null when there is none. */
export function healthAt(path: string, isVerbose: boolean, hasStorage: boolean): Health | null {
  const [, endpoint = '', check, ...rest] = path.replace(/\/$/, '').split('/')
  if (!ENDPOINTS.includes(`/${endpoint}`) || rest.length > 0) return null
  if (check !== undefined) return CHECKS.includes(check) ? checkHealth(check, hasStorage) : null
  if (hasStorage && !isVerbose) return { code: 200, text: 'ok' }
  const lines = CHECKS.map((one) =>
    one === 'etcd' && !hasStorage ? '[-]etcd failed: reason withheld' : `[+]${one} ok`,
  )
  const end = `${endpoint} check ${hasStorage ? 'passed' : 'failed'}`
  return { code: hasStorage ? 200 : 500, text: [...lines, end, ''].join('\n') }
}

function checkHealth(check: string, hasStorage: boolean): Health {
  if (check !== 'etcd' || hasStorage) return { code: 200, text: 'ok' }
  const text = 'internal server error: error getting data from etcd: context deadline exceeded\n'
  return { code: 500, text }
}
