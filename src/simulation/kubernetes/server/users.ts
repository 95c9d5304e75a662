import { randomBytes } from 'node:crypto'
import { unauthorized } from '../objects/api-error.js'

export interface User {
  readonly name: string
  readonly groups: readonly string[]
}

/** Who may do everything. */
export const MASTERS = 'system:masters'
/** Whose constant reports are not kept word for word. */
export const KUBELETS = 'system:nodes'

const AUTHENTICATED = 'system:authenticated'
const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

const TOKEN_BYTES = 24

/** Who has which bearer token. */
export class Users {
  readonly #tokens = new Map<string, string>()
  readonly #users = new Map<string, User>()

  constructor(users: readonly { readonly name: string; readonly groups?: readonly string[] }[]) {
    for (const { name, groups = [] } of users) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      this.#tokens.set(name, token)
      this.#users.set(token, { name, groups: [...groups, AUTHENTICATED] })
    }
  }

  tokenOf(name: string): string {
    const token = this.#tokens.get(name)
    if (token === undefined) throw new Error(`There is no user ${name}`)
    return token
  }

  /** Nobody in particular when no credentials are shown. Throws `ApiError` 401 for some that are nobody's. */
  authenticate(authorization: string | undefined): User {
    const token = /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return ANONYMOUS
    const user = this.#users.get(token)
    if (user === undefined) throw unauthorized()
    return user
  }
}
