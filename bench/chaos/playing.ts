/**
 * Plays a script of faults. Faults in a burst overlap as scripted. A burst starts after the quiet period of the
 * previous burst.
 */
import type { Ground } from './fault.ts'
import { randomOf } from './random.ts'
import type { FaultEntry } from './record.ts'
import { type Play, type Script, SINGLE_AT_ONCE } from './script.ts'

export interface Playing {
  readonly ground: Ground
  readonly quietMs: number
  readonly mostInTrouble: number
  /** When it is aborted, running faults end and no other fault starts. */
  readonly signal: AbortSignal
  /** Called when a fault has ended. */
  readonly passed: (play: Play, entry: Omit<FaultEntry, 'host' | 'mono'>) => void
}

/** @returns how many faults were played */
export async function playScript({ plays, bursts }: Script, playing: Playing): Promise<number> {
  let played = 0
  for (const burst of bursts.keys()) {
    if (playing.signal.aborted) break
    const gates = {
      worker: gate(playing.mostInTrouble),
      whole: gate(1),
      single: gate(SINGLE_AT_ONCE),
      rows: gate(Infinity),
    }
    const begin = performance.now()
    await Promise.all(
      plays
        .filter((play) => play.burst === burst)
        .map(async (play) => {
          await playing.ground.pause(Math.max(0, begin + play.at - performance.now()))
          // Faults that must not overlap take turns, because on a slow machine, they may last longer than planned.
          await gates[play.fault.scope](async () => {
            if (playing.signal.aborted) return
            await playOne(play, playing)
            played += 1
          })
        }),
    )
    await playing.ground.pause(playing.quietMs)
  }
  return played
}

async function playOne(play: Play, { ground, passed }: Playing): Promise<void> {
  const { name, scope } = play.fault
  const from = Date.now()
  let report: Awaited<ReturnType<typeof play.fault.run>>
  try {
    report = await play.fault.run(ground, randomOf(play.seed))
  } catch (error) {
    report = {
      hit: '?',
      detail: 'the fault threw an error',
      trouble: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }
  }
  const entry = {
    kind: 'fault',
    name,
    scope,
    from,
    until: Date.now(),
    hit: report.hit,
    detail: report.detail,
    trouble: report.trouble ?? null,
    seen: report.seen ?? null,
    ...(report.reach === undefined ? {} : { reach: report.reach }),
  } as const
  ground.journal.write(entry)
  passed(play, entry)
}

/** Allows at most `places` concurrent calls. */
function gate(places: number): (work: () => Promise<void>) => Promise<void> {
  let free = places
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      await work()
    } finally {
      // The place passes to the next call, or becomes free.
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
