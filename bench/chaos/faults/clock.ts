/**
 * The database's clock and the clocks of all workers jump together, as if they were on one machine.
 *
 * A jump back that is undone later has no lasting effect, except that slots in that period are late. After a jump
 * forward that is undone later, schedules pause until the clock has caught up, because their slots never go back; so
 * such jumps are only seconds long. Jumps forward by hours are rare and permanent.
 */
import type { Fault } from '../fault.ts'
import type { Random } from '../random.ts'
import type { TargetClock } from '../targets/clock.ts'

const HOUR_MS = 3_600_000
/** Maximum number of permanent jumps per run; each causes an hour of missed slots. */
const MAX_HOURS_FORTH = 1

export function clockFaults(clock: TargetClock): Fault[] {
  let hoursForth = 0
  // Goes back to a time before the run began, even if the clock has jumped forward by an hour. Otherwise, slots during
  // the jump could not be distinguished from earlier slots.
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
        return { hit: 'database', detail: `the clock jumped by ${byMs} ms permanently` }
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
