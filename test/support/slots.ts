import type { ControlPlaneAccess } from './control-plane.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where test files ask for the real parts; undefined when there are none. */
    testBed: string | undefined
  }
}

/** One control plane and one namespace for each test file that can run at the same time. */
export const SLOTS = 5

export interface SlotAccess {
  access: ControlPlaneAccess
  processes: { name: string; pid: number | undefined }[]
}
