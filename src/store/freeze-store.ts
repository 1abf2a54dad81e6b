import type { Freeze, NewFreeze } from '../model/freeze.ts'

/** Freezes, which people may also write. */
export interface FreezeStore {
  /** @returns null when it would have ended already */
  add(freeze: NewFreeze): Promise<Freeze | null>
  /** Ends it now, and lets go of what it held. @returns null when no such freeze is in force */
  end(id: string): Promise<Freeze | null>
  /** Those that have not ended, by id. */
  inForce(): Promise<Freeze[]>
  /** Lets go of what freezes held that were deleted or shortened in SQL. */
  thaw(): Promise<void>
}
