import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'
import {
  bits,
  boolean,
  explicit,
  implicit,
  integer,
  objectId,
  octets,
  sequence,
  set,
  utcTime,
  utf8,
} from './der.js'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const DAY_MS = 86_400_000
const VALID_DAYS = 365

const ECDSA_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'))
const COMMON_NAME = objectId('2.5.4.3')
const SUBJECT_KEY = '2.5.29.14'
const KEY_USAGE = '2.5.29.15'
const ALTERNATIVE_NAMES = '2.5.29.17'
const BASIC_CONSTRAINTS = '2.5.29.19'
const AUTHORITY_KEY = '2.5.29.35'
const EXTENDED_USAGE = '2.5.29.37'
const SERVER_AUTHENTICATION = objectId('1.3.6.1.5.5.7.3.1')

/** A certificate authority of this process alone: its key is never written anywhere. */
export class CertificateAuthority {
  /** PEM: what a client has to trust. */
  readonly cert: string
  readonly #name: Buffer
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

  constructor(commonName: string) {
    this.#name = nameOf(commonName)
    this.cert = this.#signed(this.#name, this.#keys.publicKey, [
      extension(BASIC_CONSTRAINTS, true, sequence(boolean(true))),
      // keyCertSign and cRLSign.
      extension(KEY_USAGE, true, bits(Buffer.from([0x06]), 1)),
    ])
  }

  /** For a server that is reached under these host names and IPv4 addresses. */
  issue(commonName: string, hosts: readonly string[]): Certificate {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const cert = this.#signed(nameOf(commonName), publicKey, [
      extension(BASIC_CONSTRAINTS, true, sequence()),
      // digitalSignature.
      extension(KEY_USAGE, true, bits(Buffer.from([0x80]), 7)),
      extension(EXTENDED_USAGE, false, sequence(SERVER_AUTHENTICATION)),
      extension(ALTERNATIVE_NAMES, false, sequence(...hosts.map(alternativeName))),
      extension(AUTHORITY_KEY, false, sequence(implicit(0, keyId(this.#keys.publicKey)))),
    ])
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
  }

  #signed(subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[]): string {
    const now = Date.now()
    const content = sequence(
      explicit(0, integer(Buffer.from([2]))),
      integer(randomBytes(16).fill(1, 0, 1)),
      ECDSA_SHA256,
      this.#name,
      // Clocks differ.
      sequence(utcTime(new Date(now - DAY_MS)), utcTime(new Date(now + VALID_DAYS * DAY_MS))),
      subject,
      publicKey.export({ type: 'spki', format: 'der' }),
      explicit(3, sequence(extension(SUBJECT_KEY, false, octets(keyId(publicKey))), ...extensions)),
    )
    const signature = sign('sha256', content, this.#keys.privateKey)
    return pem(sequence(content, ECDSA_SHA256, bits(signature)))
  }
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(COMMON_NAME, utf8(commonName))))
}

function extension(id: string, critical: boolean, content: Buffer): Buffer {
  return sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(content))
}

function alternativeName(host: string): Buffer {
  return isIPv4(host) ? implicit(7, Buffer.from(host.split('.').map(Number))) : implicit(2, Buffer.from(host))
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
