import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientConfigTLS } from '@temporalio/envconfig'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Problem } from '../core/model.js'
import type { Parsed } from '../spec/parse.js'
import type { Layer } from './setting.js'

/** The shape the Temporal CLI insists on; sections beside `env` are tolerated, as they are there. */
const envFile = z.looseObject({
  env: z.record(z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
})

type Flags = z.output<typeof envFile>['env'][string]

/** The words of the stock CLI for a flag that is on or off. */
const ON = ['1', 't', 'T', 'true', 'True', 'TRUE']
const OFF = ['0', 'f', 'F', 'false', 'False', 'FALSE']

/** Flags that a CLI would obey and that we refuse to read from a file: ignoring them without a word would be worse. */
const REFUSED: Readonly<Record<string, string>> = {
  'api-key': 'a secret has no place in a shared file; set TEMPORAL_API_KEY',
  'tls-key-data': 'a secret has no place in a shared file; give the path with tls-key-path',
  'grpc-meta': 'is not read from here; set TEMPORAL_GRPC_META_<NAME>',
  'tls-disable-host-verification': 'the SDK always verifies; give tls-server-name or tls-ca-path',
}

export interface AskedEnvironment {
  /** Null: `temporal.yaml` in `folder`, if it is there. */
  readonly path: string | null
  /** Null: `default`, if the file has it. */
  readonly name: string | null
  readonly folder: string
}

/** One environment of the Temporal CLI's environment file; null when there is none and nobody asked for one. */
export function readEnvironment(asked: AskedEnvironment): Parsed<Layer | null> {
  const path = asked.path ?? join(asked.folder, 'temporal.yaml')
  const name = asked.name ?? 'default'
  if (!existsSync(path)) {
    if (asked.path === null && asked.name === null) return { ok: true, value: null }
    return problem(asked.path ?? 'temporal.yaml', 'does not exist', 'name another file with --env-file')
  }
  const environments = readFile(path)
  if (!environments.ok) return environments
  const flags = environments.value[name]
  if (flags !== undefined) return toLayer(flags, `environment ${name} of ${asked.path ?? 'temporal.yaml'}`)
  if (asked.name === null) return { ok: true, value: null }
  const known = Object.keys(environments.value).join(', ')
  return problem(path, `has no environment ${name}`, `it has ${known || 'none'}`)
}

function readFile(path: string): Parsed<Record<string, Flags>> {
  try {
    const parsed = envFile.safeParse(parse(readFileSync(path, 'utf8')))
    if (parsed.success) return { ok: true, value: parsed.data.env }
    const where = parsed.error.issues[0]?.path.join('.') || 'env'
    return problem(
      path,
      `is no environment file of the Temporal CLI (at ${where})`,
      'write env, below it the environments, below each the names of flags with plain values',
    )
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n')
    return problem(path, `cannot be read: ${line}`, 'correct it')
  }
}

function toLayer(flags: Flags, from: string): Parsed<Layer> {
  const problems = Object.keys(flags).flatMap((flag): Problem[] => {
    const why = REFUSED[flag]
    if (why === undefined) return []
    const [what = '', fix = ''] = why.split('; ')
    return [{ where: `${flag} in ${from}`, what, fix }]
  })
  if (flags.tls !== undefined && ![...ON, ...OFF].includes(String(flags.tls))) {
    const what = `is ${JSON.stringify(flags.tls)}, neither on nor off`
    problems.push({ where: `tls in ${from}`, what, fix: 'write true or false' })
  }
  if (problems.length > 0) return { ok: false, problems }
  const text = (flag: string) => (flags[flag] === undefined ? undefined : String(flags[flag]))
  const [address, namespace, taskQueue] = [text('address'), text('namespace'), text('task-queue')]
  const tls = toTls(flags, text)
  return {
    ok: true,
    value: {
      from,
      ...(address === undefined ? {} : { address }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(taskQueue === undefined ? {} : { taskQueue }),
      ...(tls === null ? {} : { tls }),
    },
  }
}

function toTls(flags: Flags, text: (flag: string) => string | undefined): ClientConfigTLS | null {
  const source = (flag: string) => {
    const [path, data] = [text(`${flag}-path`), text(`${flag}-data`)]
    return path !== undefined ? { path } : data !== undefined ? { data } : undefined
  }
  const [serverName, serverCACert] = [text('tls-server-name'), source('tls-ca')]
  const [clientCert, clientKey] = [source('tls-cert'), source('tls-key')]
  const tls: ClientConfigTLS = {
    ...(flags.tls === undefined ? {} : { disabled: OFF.includes(String(flags.tls)) }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(serverCACert === undefined ? {} : { serverCACert }),
    ...(clientCert === undefined ? {} : { clientCert }),
    ...(clientKey === undefined ? {} : { clientKey }),
  }
  return Object.keys(tls).length === 0 ? null : tls
}

function problem(where: string, what: string, fix: string): { ok: false; problems: Problem[] } {
  return { ok: false, problems: [{ where, what, fix }] }
}
