import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Certificate {
  /** PEM. Self-signed, so it is also the CA that a client trusts. */
  cert: string
  key: string
}

/** A certificate for 127.0.0.1 and localhost, made by openssl in some 20 ms. */
export async function selfSigned(commonName: string): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'noderoll-cert-'))
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  try {
    await promisify(execFile)('openssl', [
      ...[
        'req',
        '-x509',
        '-nodes',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-days',
        '7',
      ],
      ...['-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
      ...['-keyout', key, '-out', cert],
    ])
    return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
