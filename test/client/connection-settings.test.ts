import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConnectionOptions, connectionSettings } from '../../src/client/connection-settings.js'

const YAML = `
env:
  default: { namespace: of-default }
  local: { address: "yaml:1", namespace: of-yaml, task-queue: of-yaml }
  secure: { address: "yaml:1", tls: true, tls-server-name: temporal.example.com }
  secret: { address: "yaml:1", api-key: sesame }
`
const TOML = `
[profile.default]
address = "toml:1"
namespace = "of-toml"
[profile.keyed]
api_key = "sesame"
[profile.half]
tls = { client_cert_data = "x" }
`

describe('where the settings of a connection come from', () => {
  let folder: string
  let withoutYaml: string
  let toml: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'noderoll-settings-'))
    withoutYaml = join(folder, 'empty')
    toml = join(folder, 'temporal.toml')
    await mkdir(withoutYaml)
    await writeFile(join(folder, 'temporal.yaml'), YAML)
    await writeFile(toml, TOML)
    await writeFile(join(folder, 'flat.yaml'), 'address: yaml:1\n')
    await writeFile(join(folder, 'empty.toml'), '')
    await writeFile(join(folder, 'broken.yaml'), 'env: [\n')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const settings = (options: ConnectionOptions, env: Record<string, string>, where = folder) =>
    connectionSettings({ options, env: { HOME: where, ...env }, folder: where })

  function described(options: ConnectionOptions, env: Record<string, string> = {}, where = folder) {
    const checked = settings(options, env, where)
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems))
    return Object.fromEntries(
      checked.value.described.map(({ name, value, from }) => [name, `${value} (${from})`]),
    )
  }

  it.each([
    {
      name: 'nothing at all: the defaults',
      where: 'nowhere',
      options: {},
      env: {},
      expected: ['127.0.0.1:7233 (default)', 'default (default)', 'noderoll (default)'],
    },
    {
      name: 'temporal.yaml in the folder: its default environment',
      options: {},
      env: {},
      expected: [
        '127.0.0.1:7233 (default)',
        'of-default (environment default of temporal.yaml)',
        'noderoll (default)',
      ],
    },
    {
      name: 'an environment named on the command line',
      options: { env: 'local' },
      env: {},
      expected: [
        'yaml:1 (environment local of temporal.yaml)',
        'of-yaml (environment local of temporal.yaml)',
        'of-yaml (environment local of temporal.yaml)',
      ],
    },
    {
      name: 'an environment named by TEMPORAL_ENV',
      options: {},
      env: { TEMPORAL_ENV: 'secure' },
      expected: ['yaml:1 (environment secure of temporal.yaml)', 'default (default)', 'noderoll (default)'],
    },
    {
      name: 'a TOML profile beats the environment, value by value',
      options: { env: 'local' },
      env: { TEMPORAL_CONFIG_FILE: 'TOML' },
      expected: [
        'toml:1 (profile default of TOML)',
        'of-toml (profile default of TOML)',
        'of-yaml (environment local of temporal.yaml)',
      ],
    },
    {
      name: 'a variable beats the profile',
      options: { env: 'local' },
      env: {
        TEMPORAL_CONFIG_FILE: 'TOML',
        TEMPORAL_ADDRESS: 'variable:1',
        NODEROLL_TASK_QUEUE: 'of-variable',
      },
      expected: [
        'variable:1 (TEMPORAL_ADDRESS)',
        'of-toml (profile default of TOML)',
        'of-variable (NODEROLL_TASK_QUEUE)',
      ],
    },
    {
      name: 'the command line beats everything',
      options: { env: 'local', address: 'typed:1', namespace: 'typed', taskQueue: 'typed' },
      env: {
        TEMPORAL_CONFIG_FILE: 'TOML',
        TEMPORAL_ADDRESS: 'variable:1',
        TEMPORAL_NAMESPACE: 'variable',
        NODEROLL_TASK_QUEUE: 'variable',
      },
      expected: ['typed:1 (command line)', 'typed (command line)', 'typed (command line)'],
    },
    {
      name: 'an empty variable is one that is not set',
      options: { env: 'local' },
      env: {
        TEMPORAL_ADDRESS: '',
        TEMPORAL_NAMESPACE: '',
        TEMPORAL_CONFIG_FILE: '',
        NODEROLL_TASK_QUEUE: '',
      },
      expected: [
        'yaml:1 (environment local of temporal.yaml)',
        'of-yaml (environment local of temporal.yaml)',
        'of-yaml (environment local of temporal.yaml)',
      ],
    },
  ])('$name', ({ options, env, expected, where }) => {
    const given = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value === 'TOML' ? toml : value]),
    )

    const found = described(options, given, where === 'nowhere' ? withoutYaml : folder)

    expect([found.address, found.namespace, found['task queue']]).toEqual(
      expected.map((one) => one.replace('TOML', toml)),
    )
  })

  it('says when the environment somebody chose is overruled', () => {
    const checked = settings(
      { env: 'local' },
      { TEMPORAL_ADDRESS: 'variable:1', TEMPORAL_NAMESPACE: 'of-yaml' },
    )

    expect(checked.ok && checked.value.notes).toEqual([
      'address is variable:1 (TEMPORAL_ADDRESS), not yaml:1 (environment local of temporal.yaml)',
    ])
  })

  it('puts TLS together from several places', () => {
    expect(described({ env: 'secure' }).TLS).toBe(
      'on, server name temporal.example.com (environment secure of temporal.yaml)',
    )
    expect(described({ env: 'secure' }, { TEMPORAL_TLS: 'false' }).TLS).toMatch(/^off \(TEMPORAL_TLS\*/)
    expect(described({ env: 'local' }, { TEMPORAL_TLS: '1' }).TLS).toBe('on (TEMPORAL_TLS*)')
  })

  it.each([
    ['on', ['1', 't', 'T', 'true', 'True', 'TRUE', "'true'"]],
    ['off', ['0', 'f', 'F', 'false', 'False', 'FALSE', "'0'"]],
    ['refused', ['yes', 'no', 'on', '2', '""', "'true '"]],
  ])('tls of temporal.yaml is %s for the words of the stock command', async (expected, words) => {
    for (const word of words) {
      const envFile = join(folder, 'words.yaml')
      await writeFile(envFile, `env:\n  local: { tls: ${word} }\n`)

      const checked = settings({ env: 'local', envFile }, {})

      const tls = checked.ok ? checked.value.described.find(({ name }) => name === 'TLS')?.value : 'refused'
      expect(tls, word).toBe(expected)
      if (checked.ok) continue
      expect(checked.problems).toEqual([
        {
          where: `tls in environment local of ${envFile}`,
          what: expect.stringMatching(/^is .*, neither on nor off$/),
          fix: 'write true or false',
        },
      ])
    }
  })

  it('warns of an API key that goes without TLS to another machine', () => {
    const notes = (address: string, env: Record<string, string>) => {
      const checked = settings({ address }, env)
      return checked.ok ? checked.value.notes : checked.problems
    }
    const key = { TEMPORAL_API_KEY: 'sesame' }

    expect(notes('temporal.example.com:7233', { ...key, TEMPORAL_TLS: 'false' })).toEqual([
      'the API key goes to temporal.example.com:7233 unencrypted, for TLS is off (TEMPORAL_TLS*)',
    ])
    for (const own of ['127.0.0.1:7233', 'localhost:7233', '[::1]:7233']) {
      expect(notes(own, { ...key, TEMPORAL_TLS: 'false' }), own).toEqual([])
    }
    expect(notes('temporal.example.com:7233', key)).toEqual([])
    expect(notes('temporal.example.com:7233', { TEMPORAL_TLS: 'false' })).toEqual([])
  })

  it('turns TLS on for an API key, and never shows the key', () => {
    const checked = settings({}, { TEMPORAL_API_KEY: 'sesame', TEMPORAL_GRPC_META_TENANT: 'sesame' })
    if (!checked.ok) throw new Error('unexpected')

    expect(checked.value.connectionOptions).toMatchObject({
      apiKey: 'sesame',
      tls: true,
      metadata: { tenant: 'sesame' },
    })
    expect(JSON.stringify([checked.value.described, checked.value.notes])).not.toContain('sesame')
    expect(described({}, { TEMPORAL_API_KEY: 'sesame' })).toMatchObject({
      TLS: 'on (TEMPORAL_API_KEY)',
      'API key': '(secret) (TEMPORAL_API_KEY)',
    })
    expect(described({}, { TEMPORAL_CONFIG_FILE: toml, TEMPORAL_PROFILE: 'keyed' })['API key']).toBe(
      `(secret) (profile keyed of ${toml})`,
    )
  })

  it.each([
    [
      'an environment that is not there',
      { env: 'nope' },
      {},
      /has no environment nope; it has default, local/,
    ],
    ['a file that is not there', { envFile: '/nowhere.yaml' }, {}, /nowhere\.yaml: does not exist/],
    ['a file of another shape', { envFile: 'flat.yaml' }, {}, /is no environment file of the Temporal CLI/],
    ['a file that is no YAML', { envFile: 'broken.yaml' }, {}, /broken\.yaml: cannot be read/],
    ['a secret in the file', { env: 'secret' }, {}, /api-key in environment secret .*TEMPORAL_API_KEY/],
    ['TEMPORAL_TLS=TRUE, which would mean off', {}, { TEMPORAL_TLS: 'TRUE' }, /TEMPORAL_TLS: is TRUE/],
    [
      'a TOML file that is not there',
      {},
      { TEMPORAL_CONFIG_FILE: '/nowhere' },
      /names \/nowhere, which does not exist/,
    ],
    ['a TOML file without a profile', {}, { TEMPORAL_CONFIG_FILE: 'empty.toml' }, /has no profile/],
    ['a profile that is not there', {}, { TEMPORAL_PROFILE: 'nope' }, /nope/],
    [
      'a client certificate without its key',
      {},
      { TEMPORAL_CONFIG_FILE: 'temporal.toml', TEMPORAL_PROFILE: 'half' },
      /client certificate without key/,
    ],
    [
      'a certificate that is not there',
      {},
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere.crt' },
      /nowhere\.crt/,
    ],
    ['an address with a scheme', { address: 'https://temporal:7233' }, {}, /write host:port/],
  ])('refuses %s', (_, options, env, expected) => {
    const inFolder = (value: string) => (value.match(/^[\w.]+\.(yaml|toml)$/) ? join(folder, value) : value)
    const checked = settings(
      Object.fromEntries(Object.entries(options).map(([name, value]) => [name, inFolder(value)])),
      Object.fromEntries(Object.entries(env).map(([name, value]) => [name, inFolder(value)])),
    )

    const said = checked.ok
      ? ''
      : checked.problems.map((one) => `${one.where}: ${one.what}; ${one.fix}`).join('\n')
    expect(said).toMatch(expected)
    expect(said).not.toContain('sesame')
  })

  it('names all mistakes at once', () => {
    const checked = settings({ env: 'nope' }, { TEMPORAL_TLS: 'yes', TEMPORAL_CONFIG_FILE: '/nowhere' })

    expect(checked.ok ? [] : checked.problems).toHaveLength(3)
  })
})
