import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJson } from '../cloud-server.js'

export const IDENTITY_PATH = '/msi/token'

const TOKEN_SECONDS = 86_400

/** The managed identity endpoint of an app service: what `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` point to. */
export class IdentityEndpoint {
  readonly header = randomBytes(16).toString('hex')

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://identity')
    if (url.pathname !== IDENTITY_PATH) return sendJson(response, 404, { error: 'not found' })
    if (request.headers['x-identity-header'] !== this.header)
      return sendJson(response, 401, { error: 'wrong X-IDENTITY-HEADER' })
    sendJson(response, 200, {
      access_token: `simulated-${randomBytes(8).toString('hex')}`,
      expires_on: String(Math.floor(Date.now() / 1000) + TOKEN_SECONDS),
      resource: url.searchParams.get('resource'),
      token_type: 'Bearer',
    })
  }
}
