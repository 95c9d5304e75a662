import type { RolloutActivities } from '../api/activities.js'
import type { World } from '../ports/connections.js'
import { beginRollout } from './begin-rollout.js'
import { checkSettings } from './check-settings.js'
import { checkSpec, checkTarget } from './check-spec.js'
import { cordonNodes } from './cordon-nodes.js'
import { drainNode } from './drain-node.js'
import { failNode } from './fail-node.js'
import { letGo } from './let-go.js'
import { nextBatch } from './next-batch.js'
import {
  DRAIN_WORDS,
  RESIZE_WORDS,
  RESTORE_WORDS,
  START_WORDS,
  STOP_WORDS,
  telling,
  VERIFY_WORDS,
} from './node-events.js'
import { preflightBatch } from './preflight-batch.js'
import { quarantineNode } from './quarantine-node.js'
import { readPlan } from './read-plan.js'
import { readStatus } from './read-status.js'
import { lookForRelease, release } from './release.js'
import { resizeMachine } from './resize-machine.js'
import { restoreMachine } from './restore-machine.js'
import { startMachine } from './start-machine.js'
import { stopMachine } from './stop-machine.js'
import { storeSettings } from './store-settings.js'
import { takeLease } from './take-lease.js'
import { undoNodes } from './undo-nodes.js'
import { verifyNode } from './verify-node.js'

/** Every step, over the outside worlds this worker can reach. */
export function createActivities(world: World): RolloutActivities {
  return {
    checkSpec: checkSpec(world),
    checkTarget: checkTarget(world),
    takeLease: takeLease(world),
    beginRollout: beginRollout(world),
    checkSettings: checkSettings(world),
    storeSettings: storeSettings(world),
    letGo: letGo(world),
    nextBatch: nextBatch(world),
    preflightBatch: preflightBatch(world),
    cordonNodes: cordonNodes(world),
    drainNode: telling(world, DRAIN_WORDS, drainNode(world)),
    stopMachine: telling(world, STOP_WORDS, stopMachine(world)),
    resizeMachine: telling(world, RESIZE_WORDS, resizeMachine(world)),
    startMachine: telling(world, START_WORDS, startMachine(world)),
    restoreMachine: telling(world, RESTORE_WORDS, restoreMachine(world)),
    verifyNode: telling(world, VERIFY_WORDS, verifyNode(world)),
    undoNodes: undoNodes(world),
    quarantineNode: quarantineNode(world),
    failNode: failNode(world),
    release: release(world),
    lookForRelease: lookForRelease(world),
    readPlan: readPlan(world),
    readStatus: readStatus(world),
  }
}
