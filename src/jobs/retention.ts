import { checkKeys, namesOf } from '../keys.ts'
import { checkedWhole, spanOption } from '../model/input.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import { PRUNE_TASK, task } from '../model/task.ts'
import type { Retention, RetentionStore } from '../store/store.ts'

/** How long final jobs and their logs are kept. */
export interface RetentionOptions {
  /** Final jobs that ended longer ago than this are removed: milliseconds or a time span; default `30d`. */
  readonly age?: number | string | undefined
  /** How many of the newest final jobs and skips of each schedule are kept; default 10,000. */
  readonly perSchedule?: number | undefined
}

export const HOUSEKEEPING = 'kalends'
const DAY_MS = 86_400_000
const LIMITS = { least: 1000, most: Number.MAX_SAFE_INTEGER }
/** Maximum number of jobs per transaction, kept low so that other transactions wait only briefly for locks. */
const BATCH = 500

/** Hand-written, because the library does not load zod. The message does not repeat the input, which may be hostile. */
const PRUNE_ARGS: StandardSchema<Retention> = {
  '~standard': {
    version: 1,
    vendor: 'kalends',
    validate: (value) => (isRetention(value) ? { value } : { issues: [{ message: INVALID }] }),
  },
}
const INVALID = `must have exactly two properties: ageMs (an integer of at least ${LIMITS.least}) and perSchedule (an integer of at least 1)`

export const pruneTask = task<Retention>(PRUNE_TASK, { args: PRUNE_ARGS, timeout: '1h', retries: 0 })

function isRetention(value: unknown): value is Retention {
  if (typeof value !== 'object' || value === null) return false
  const { ageMs, perSchedule, ...others }: { ageMs?: unknown; perSchedule?: unknown } = value
  return isFrom(LIMITS.least, ageMs) && isFrom(1, perSchedule) && Object.keys(others).length === 0
}

function isFrom(least: number, value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least
}

const OPTIONS = namesOf<RetentionOptions>({ age: true, perSchedule: true })

/** @throws InvalidInputError naming the option */
export function checkedRetention(options: RetentionOptions, path = ''): Retention {
  checkKeys(options, OPTIONS, path)
  return {
    ageMs: spanOption(`${path}age`, options.age, 30 * DAY_MS, LIMITS),
    perSchedule: checkedWhole(`${path}perSchedule`, options.perSchedule, 1, LIMITS.most) ?? 10_000,
  }
}

/** @returns how many jobs were removed */
export async function prune(
  store: RetentionStore,
  retention: Retention,
  signal?: AbortSignal,
): Promise<number> {
  for (let removed = 0; ; ) {
    signal?.throwIfAborted()
    const batch = await store.prune(retention, BATCH)
    // A batch covers only some schedules, so continue until nothing is left to remove.
    if (batch === 0) return removed
    removed += batch
  }
}

/** The timer avoids the top of the hour, when most other schedules are due. */
export function housekeepingDeclarations(retention: Retention) {
  return [
    {
      task: pruneTask,
      timer: '*:17',
      args: retention,
      summary:
        'Removes final jobs and their logs by age and count, and done schedules with afterDone = delete',
    },
  ]
}
