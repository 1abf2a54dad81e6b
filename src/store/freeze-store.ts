import type { Freeze, NewFreeze } from '../model/freeze.ts'

/** Reads and writes freezes, which people may also write in SQL. */
export interface FreezeStore {
  /** @returns null when the freeze would already have ended */
  add(freeze: NewFreeze): Promise<Freeze | null>
  /**
   * Ends a freeze now, and releases the schedules and jobs that it held.
   *
   * @returns null when there is no such active freeze
   */
  end(id: string): Promise<Freeze | null>
  /** The freezes that have not ended, by id. */
  inForce(): Promise<Freeze[]>
  /** Releases the schedules and jobs that deleted or shortened freezes held. */
  thaw(): Promise<void>
}
