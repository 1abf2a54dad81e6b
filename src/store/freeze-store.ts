import type { Freeze, NewFreeze } from '../model/freeze.ts'

/** Freezes, which people may also write. */
export interface FreezeStore {
  /** @returns null when it would already have ended */
  add(freeze: NewFreeze): Promise<Freeze | null>
  /** Ends it now, and releases what it held. @returns null when this freeze is not in force */
  end(id: string): Promise<Freeze | null>
  /** Those that have not ended, by id. */
  inForce(): Promise<Freeze[]>
  /** Releases what deleted or shortened freezes held. */
  thaw(): Promise<void>
}
