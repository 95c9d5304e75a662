import { z } from 'zod'
import type { AttachmentRecord } from '../../core/drain/volumes.js'
import { METADATA, understood } from './objects.js'

const ATTACHMENT = z.object({
  metadata: METADATA,
  spec: z.object({
    nodeName: z.string(),
    source: z.object({ persistentVolumeName: z.string().nullish() }),
  }),
})

/** A claim, as far as it says which volume it is bound to. */
export const CLAIM = z.object({
  metadata: METADATA,
  spec: z.object({ volumeName: z.string().nullish() }).nullish(),
})

/** A VolumeAttachment, in a list or an event. */
export function readAttachment(item: unknown): AttachmentRecord {
  const { metadata, spec } = understood(item, ATTACHMENT, 'read the volume attachments')
  return {
    name: metadata.name,
    nodeName: spec.nodeName,
    volume: spec.source.persistentVolumeName ?? null,
  }
}
