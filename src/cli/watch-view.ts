import type { Progress } from '../core/progress.js'

/** What a person, or a program, sees of a rollout that is followed. */
export interface WatchView {
  show(progress: Progress): void
  /** For the person, beside the progress. */
  note(text: string): void
  /** Nothing is shown after this. `interrupted`: nobody will say how it ended, so where it stands is left. */
  close(why: 'ended' | 'interrupted'): void
}
