import { readdirSync, readFileSync } from 'node:fs'
import type { NodeRecord } from '../../../src/core/model.js'
import { BootIds } from '../../../src/providers/kubernetes/boot-ids.js'
import { nodeRecord, readNode } from '../../../src/providers/kubernetes/node-record.js'

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

/** The records of a list of nodes, as `nodes()` makes them. */
export function nodeRecords(items: readonly unknown[]): NodeRecord[] {
  const nodes = items.map(readNode)
  const bootIdOf = (node: (typeof nodes)[number]) => node.status?.nodeInfo?.bootID ?? ''
  const bootIds = new BootIds()
  bootIds.listed(nodes.map((node) => ({ name: node.metadata.name, bootId: bootIdOf(node) })))
  return nodes.map((node) => nodeRecord(node, bootIds.proven(node.metadata.name, bootIdOf(node))))
}
