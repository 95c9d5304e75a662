import { type AttachmentRecord, attachmentsLeft, sayAttachment } from '../../core/drain/volumes.js'
import { type PodRecord, podName } from '../../core/pods.js'
import type { Cluster, Kept } from '../../ports/cluster.js'
import { PortError, portErrorKind } from '../../ports/errors.js'

/**
 * The volumes that a drain waits for (`drain.volumes: detach`): those attached to the node, but for the volumes of pods
 * that stay on it, which nobody unmounts.
 */
export class VolumesLeft {
  readonly #cluster: Cluster
  readonly #nodeName: string
  readonly #attachments: Kept<AttachmentRecord>
  /** Volume by `namespace/claim`: once bound, a claim stays bound. */
  readonly #volumes = new Map<string, string>()

  constructor(cluster: Cluster, nodeName: string, onChange: () => void) {
    this.#cluster = cluster
    this.#nodeName = nodeName
    this.#attachments = cluster.keepVolumeAttachments(onChange)
  }

  /** Throws `PortError` unless the attachments can be read: asked before the first eviction, for the sake of permissions. */
  async mustBeReadable(signal: AbortSignal): Promise<void> {
    await this.#current(signal)
  }

  /** What is still attached, one sentence each. */
  async left(staying: readonly PodRecord[], signal: AbortSignal): Promise<string[]> {
    const attachments = attachmentsLeft(await this.#current(signal), this.#nodeName, new Set())
    if (attachments.length === 0) return []
    const volumes = await this.#volumesOf(staying, signal)
    return attachmentsLeft(attachments, this.#nodeName, volumes).map(sayAttachment)
  }

  close(): void {
    this.#attachments.close()
  }

  async #current(signal: AbortSignal): Promise<readonly AttachmentRecord[]> {
    const permission = 'list and watch volumeattachments.storage.k8s.io'
    return await explained(() => this.#attachments.current(signal), permission)
  }

  async #volumesOf(pods: readonly PodRecord[], signal: AbortSignal): Promise<Set<string>> {
    const claims = pods.flatMap(({ namespace, claims }) => claims.map((name) => podName({ namespace, name })))
    await Promise.all(
      [...new Set(claims)].map(async (full) => {
        if (this.#volumes.has(full)) return
        const [namespace = '', name = ''] = full.split('/')
        const volume = await explained(
          () => this.#cluster.volumeOfClaim(namespace, name, signal),
          'get persistentvolumeclaims',
        )
        if (volume !== null) this.#volumes.set(full, volume)
      }),
    )
    return new Set(claims.flatMap((full) => this.#volumes.get(full) ?? []))
  }
}

/** Not being allowed to look is no sign that nothing is attached. */
async function explained<T>(ask: () => Promise<T>, permission: string): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const kind = portErrorKind(error)
    if (kind !== 'refused' && kind !== 'notFound') throw error
    throw new PortError(
      kind,
      `${(error as Error).message} drain.volumes is detach, which needs the permission to ${permission} ` +
        '(deploy/rbac.yaml); grant it, or set drain.volumes to ignore',
      { cause: error, notAllowed: true },
    )
  }
}
