import type { Change } from '../objects/store.js'

/** Keeps a part of the cluster as it should be. It only ever compares what is there with what should be. */
export interface Controller {
  /** What to look at again because of this change, each in one word. */
  keysOf(change: Change): readonly string[]
  /** Brings it nearer to what it should be; gives after how many milliseconds to look again whatever happens. */
  reconcile(key: string): number | undefined
}
