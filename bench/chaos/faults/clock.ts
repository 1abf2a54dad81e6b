/**
 * The database's clock jumps, and with it that of every worker, for they share a machine in time.
 *
 * Back and later forth again, it leaves nothing: what came due meanwhile was missed by as long as it lasted. Forth
 * and later back, schedules stand still for as long as it was ahead, since they never run backwards; so that
 * is done by seconds only. By hours it goes forth for good, rarely.
 */
import type { Fault } from '../fault.ts'
import type { Random } from '../random.ts'
import type { TargetClock } from '../targets/clock.ts'

const HOUR_MS = 3_600_000
/** Of one run, for good: each brings an hour of missed slots with it. */
const MAX_HOURS_FORTH = 1

export function clockFaults(clock: TargetClock): Fault[] {
  let hoursForth = 0
  // To before the run began, also after an hour forth: otherwise, nothing tells the slots of then from earlier ones.
  const hoursBack = thereAndBack('clock.hours-back', 3, clock, (random) => -random.int(3, 6) * HOUR_MS)
  return [
    thereAndBack('clock.forth', 3, clock, (random) => random.int(1000, 8000)),
    thereAndBack('clock.back', 3, clock, (random) => -random.int(1000, 30_000)),
    hoursBack,
    {
      name: 'clock.hour-forth',
      weight: 1,
      lastsMs: 5500,
      scope: 'whole',
      async run(ground, random) {
        if (hoursForth >= MAX_HOURS_FORTH) return await hoursBack.run(ground, random)
        hoursForth += 1
        const byMs = HOUR_MS + random.int(0, 999)
        clock.move(ground, byMs)
        await ground.pause(1000)
        return { hit: 'database', detail: `the clock jumped by ${byMs} ms, for good` }
      },
    },
  ]
}

function thereAndBack(
  name: string,
  weight: number,
  clock: TargetClock,
  jumpMs: (random: Random) => number,
): Fault {
  return {
    name,
    weight,
    lastsMs: 5500,
    scope: 'whole',
    async run(ground, random) {
      const byMs = jumpMs(random)
      const ms = random.int(1000, 5000)
      clock.move(ground, byMs)
      try {
        await ground.pause(ms)
      } finally {
        clock.move(ground, -byMs)
      }
      return { hit: 'database', detail: `the clock jumped by ${byMs} ms, and back after ${ms} ms` }
    },
  }
}
