/** Longest time a live attempt goes without a heartbeat, in seconds. After it, the attempt sends nothing more. */
export const HEARTBEAT_SECONDS = 10

/** Longest time a heartbeat is held back by the SDK, in seconds: what Temporal has heard last may be so old. */
export const HEARTBEAT_HELD_SECONDS = 5

/** Deadline of one request to a cluster or a cloud, in seconds. */
const REQUEST_SECONDS = 10

/**
 * How long a takeover waits before its first node or machine write, in seconds: by then an attempt of the old holder
 * that was still alive has either noticed or may send nothing more, and its last request has ended (design: the Lease).
 */
export const TAKEOVER_SECONDS = HEARTBEAT_SECONDS + REQUEST_SECONDS
