/** The disk that the database's files are on is full for some seconds. */
import type { Fault } from '../fault.ts'
import type { SmallDisk } from '../targets/disk.ts'
import { seenByWorkers, withSeen } from './mending.ts'

export interface FullDiskOptions {
  /** Takes from the database's files the room that they hold for later. */
  readonly tighten?: () => Promise<void>
  /** Writes more than any file still has room for. @returns the database's refusal; null: it did write */
  readonly probe: () => Promise<string | null>
  /** Brings the database up again, should it have given up; tells what it had to do. */
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
        const detail = `full for ${ms} ms (${Math.round(filled / MB)} MB taken)${revived}; a write: ${refusal ?? 'went through'}`
        return withSeen({ hit: 'database', detail }, seen)
      },
    },
  ]
}
