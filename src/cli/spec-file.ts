import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'
import { checkRollout, checkTarget, type TargetRequest } from '../client/check-request.js'
import { NoderollError } from '../client/noderoll-error.js'
import type { RolloutRequest } from '../spec/schema.js'

/**
 * A spec, YAML or JSON, from a file or with `-` from stdin, as it was written. Throws when it has mistakes: they are named
 * even when Temporal cannot be reached.
 */
export async function readRollout(path: string): Promise<RolloutRequest> {
  const spec = await readSpec(path)
  checkRollout(spec)
  return spec as RolloutRequest
}

async function readSpec(path: string): Promise<unknown> {
  const name = path === '-' ? 'the spec on stdin' : path
  let content: string
  try {
    content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  } catch (error) {
    const why = WHY_UNREADABLE[(error as NodeJS.ErrnoException).code ?? ''] ?? firstLine(error)
    throw new NoderollError('usage', `${name} cannot be read: ${why}; correct the path`, { cause: error })
  }
  try {
    return path.endsWith('.json') ? JSON.parse(content) : parse(content)
  } catch (error) {
    const format = path.endsWith('.json') ? 'JSON' : 'YAML or JSON'
    throw new NoderollError('invalidSpec', `${name} is no ${format}: ${firstLine(error)}`, { cause: error })
  }
}

const WHY_UNREADABLE: Readonly<Record<string, string>> = {
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file',
}

function firstLine(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return line.replace(/:$/, '')
}

/** The part of a spec that says which cluster; the rest of it is not looked at. */
export async function readTarget(path: string): Promise<TargetRequest> {
  const spec = await readSpec(path)
  // What is no object has no fields, and the check names those that are missing.
  return checkTarget((typeof spec === 'object' && spec !== null ? spec : {}) as TargetRequest)
}
