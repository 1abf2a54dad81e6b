/** The disk with the database's files is full for a few seconds. */
import type { Fault } from '../fault.ts'
import type { SmallDisk } from '../targets/disk.ts'
import { seenByWorkers, withSeen } from './mending.ts'

export interface FullDiskOptions {
  /** Releases the free space that the database's files have reserved. */
  readonly tighten?: () => Promise<void>
  /**
   * Writes more than any of the database's files has room for. @returns the database's error, or null if the write
   * succeeded
   */
  readonly probe: () => Promise<string | null>
  /** Restarts the database if it has exited. @returns what was done */
  readonly revive: () => Promise<string>
}

const MB = 1024 ** 2

export function diskFaults(disk: SmallDisk, { tighten, probe, revive }: FullDiskOptions): Fault[] {
  return [
    {
      name: 'disk.full',
      weight: 3,
      lastsMs: 18_000,
      scope: 'whole',
      async run(ground, random) {
        const ms = random.int(3000, 7000)
        let refusal: string | null = null
        let seen: boolean | null = null
        let filled = 0
        let revived = ''
        try {
          await tighten?.()
          filled = await disk.fill()
          refusal = await probe()
          await ground.pause(ms)
          seen = await seenByWorkers(ground)
        } finally {
          await disk.free()
          revived = await revive()
        }
        const detail = `full for ${ms} ms (${Math.round(filled / MB)} MB taken)${revived}; a write: ${refusal ?? 'succeeded'}`
        return withSeen({ hit: 'database', detail }, seen)
      },
    },
  ]
}
