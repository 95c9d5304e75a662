import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { azureEnvironment, readAzureEnvironment } from '../../../src/providers/azure-vm/environment.js'
import { CertificateAuthority } from '../../../src/simulation/kubernetes/certificate.js'

async function fileOf(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'noderoll-ca-')), 'ca.pem')
  await writeFile(file, text)
  return file
}

describe('how a worker reaches Azure', () => {
  it('is the public cloud unless told otherwise', () => {
    expect(azureEnvironment({ NODEROLL_AZURE_ENDPOINT: '' })).toEqual({
      ...{ endpoint: 'https://management.azure.com', scope: null, ca: null, requestsPerSecond: 20 },
    })
  })

  it('names another endpoint, scope, CA and pace', async () => {
    const { cert } = new CertificateAuthority('a proxy that opens TLS')

    const found = azureEnvironment({
      NODEROLL_AZURE_ENDPOINT: 'https://management.chinacloudapi.cn/',
      NODEROLL_AZURE_SCOPE: 'https://management.chinacloudapi.cn/.default',
      NODEROLL_AZURE_CA_FILE: await fileOf(`${cert}${cert}`),
      NODEROLL_AZURE_REQUESTS_PER_SECOND: '2.5',
    })

    expect(found).toMatchObject({
      endpoint: 'https://management.chinacloudapi.cn',
      scope: 'https://management.chinacloudapi.cn/.default',
      requestsPerSecond: 2.5,
    })
    expect(found.ca?.at(-1)).toContain(cert)
    expect(found.ca?.length).toBeGreaterThan(100)
  })

  it.each([
    ['ENDPOINT', 'http://management.azure.com'],
    ['ENDPOINT', 'management.azure.com'],
    ['ENDPOINT', 'https://me:secret@management.azure.com'],
    ['SCOPE', 'https://management.azure.com'],
    ['CA_FILE', '/nonexistent/ca.pem'],
    ['REQUESTS_PER_SECOND', '2,5'],
    ['REQUESTS_PER_SECOND', '0'],
    ['REQUESTS_PER_SECOND', '-1'],
    ['REQUESTS_PER_SECOND', '1e3'],
  ])('CKS-00 does not take NODEROLL_AZURE_%s=%s for another value', (name, value) => {
    const { problems } = readAzureEnvironment({ [`NODEROLL_AZURE_${name}`]: value })

    expect(problems).toMatchObject([{ where: `NODEROLL_AZURE_${name}` }])
    expect(JSON.stringify(problems)).not.toContain('secret')
  })

  it.each([
    ['no certificate', 'a certificate'],
    ['a broken one', '-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n'],
  ])('CKS-00 finds %s in its CA file before any rollout does', async (_, text) => {
    const { problems } = readAzureEnvironment({ NODEROLL_AZURE_CA_FILE: await fileOf(text) })

    expect(problems).toMatchObject([
      { where: 'NODEROLL_AZURE_CA_FILE', what: expect.stringContaining('ca.pem') },
    ])
  })

  it('CKS-00 is refused, with all mistakes, where nobody has checked it', () => {
    const mistaken = { NODEROLL_AZURE_SCOPE: 'x', NODEROLL_AZURE_REQUESTS_PER_SECOND: 'many' }

    expect(() => azureEnvironment(mistaken)).toThrow(
      expect.objectContaining({
        kind: 'refused',
        message: expect.stringMatching(/AZURE_SCOPE.*AZURE_REQUESTS_PER_SECOND/),
      }),
    )
  })
})
