import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../../fixtures/real-objects/', import.meta.url)

export interface RealObject {
  metadata: { name: string; [field: string]: unknown }
  // biome-ignore lint/suspicious/noExplicitAny: real objects, as they come
  [field: string]: any
}

/** The files of one kind: their names end in `-nodes.json`, `-node.json` or `-pods.json`. */
export function realFiles(kind: 'node' | 'pod'): string[] {
  return readdirSync(FOLDER)
    .filter((name) => new RegExp(`-${kind}s?\\.json$`).test(name))
    .sort()
}

/** A list, a bare array or a single object: whatever the file holds, as a list of objects. */
export function realObjects(file: string): RealObject[] {
  const content = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'))
  if (Array.isArray(content)) return content
  return content.items ?? [content]
}
