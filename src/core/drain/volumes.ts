/** A VolumeAttachment: a volume that is, or is being, attached to a node. */
export interface AttachmentRecord {
  readonly name: string
  readonly nodeName: string
  /** Name of the PersistentVolume; null for a volume that a pod carries inline. */
  readonly volume: string | null
}

/** The volumes that have still to leave the node. One without a name may be anybody's, so it is waited for. */
export function attachmentsLeft(
  attachments: readonly AttachmentRecord[],
  nodeName: string,
  staying: ReadonlySet<string>,
): AttachmentRecord[] {
  return attachments.filter(
    (one) => one.nodeName === nodeName && (one.volume === null || !staying.has(one.volume)),
  )
}

export function sayAttachment({ name, volume }: AttachmentRecord): string {
  return `volume ${volume ?? 'without a name'} is still attached (VolumeAttachment ${name})`
}
