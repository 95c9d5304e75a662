import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** PEM texts of a server for 127.0.0.1 and localhost, and of the CA that a client has to trust. */
export interface ServerCertificate {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const DAYS_VALID = 30

/** A CA made on the spot and a certificate of it. Node can sign but writes no X.509, so that is spelled out here. */
export function makeServerCertificate(): ServerCertificate {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = nameOf('noderoll simulation CA')
  const certify = (subject: Buffer, key: KeyObject, extensions: Buffer[]) =>
    pem('CERTIFICATE', certificate({ issuer, subject, key, extensions, signer: authority.privateKey }))
  const authorityId = keyId(authority.publicKey)
  return {
    ca: certify(issuer, authority.publicKey, [
      extension('551d13', true, sequence(Buffer.from('0101ff', 'hex'))),
      // keyCertSign, cRLSign
      extension('551d0f', true, Buffer.from('03020106', 'hex')),
      extension('551d0e', false, tagged(0x04, authorityId)),
    ]),
    cert: certify(nameOf('127.0.0.1'), server.publicKey, [
      extension('551d13', true, sequence()),
      extension('551d0f', true, Buffer.from('03020780', 'hex')),
      extension('551d25', false, sequence(objectId('2b06010505070301'))),
      extension('551d0e', false, tagged(0x04, keyId(server.publicKey))),
      extension('551d23', false, sequence(tagged(0x80, authorityId))),
      extension(
        '551d11',
        false,
        sequence(tagged(0x82, Buffer.from('localhost')), tagged(0x87, Buffer.from([127, 0, 0, 1]))),
      ),
    ]),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function certificate(of: {
  issuer: Buffer
  subject: Buffer
  key: KeyObject
  extensions: Buffer[]
  signer: KeyObject
}): Buffer {
  const serial = randomBytes(16)
  // Positive and without a leading zero byte.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const now = Date.now()
  const algorithm = sequence(objectId('2a8648ce3d040302'))
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, serial),
    algorithm,
    of.issuer,
    sequence(utcTime(now - 3_600_000), utcTime(now + DAYS_VALID * 86_400_000)),
    of.subject,
    of.key.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...of.extensions)),
  )
  const signature = sign('sha256', content, of.signer)
  return sequence(content, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])))
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [Buffer.from('0101ff', 'hex')] : []
  return sequence(objectId(oid), ...flag, tagged(0x04, value))
}

function nameOf(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId('550403'), tagged(0x0c, Buffer.from(commonName)))))
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
}

function utcTime(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return tagged(0x17, Buffer.from(`${text}Z`))
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
