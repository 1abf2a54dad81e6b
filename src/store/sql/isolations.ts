/**
 * The operations that write several rows, and the rows that each of them leaves out because the database rejected them:
 * a trigger, a CHECK or a foreign key of the application refused the write.
 */
import { messageOf } from '../../errors.ts'
import type { SetAsideRow } from '../../model/diagnosis.ts'
import type { Dialect } from '../database.ts'
import type { OnSetAside } from '../refusal.ts'
import { Isolation, type IsolationOptions } from './isolate.ts'

interface Operation extends Partial<Pick<IsolationOptions, 'few' | 'longestWaitedMs' | 'isLockWait'>> {
  /** What failed, as it follows "cannot". */
  readonly what: (id: string) => string
  /** Whether the caller reports each refusal. */
  readonly isReported?: boolean
}

/** This is short, because a stopping worker tries for only a few seconds to write its outcomes. */
export const LONGEST_SETTLE_BACK_OFF_MS = 4000

/** These operations go through all of their rows, so they find every row that is rejected, even if all of them are. */
const ALL = { few: Infinity }

const OPERATIONS = {
  mark: { what: (id) => `mark the schedule '${id}'`, isReported: true },
  promote: { what: (id) => `make the job '${id}' claimable`, isReported: true },
  claim: { what: (id) => `start the job '${id}'`, isReported: true },
  handOver: { what: (id) => `hand over the job '${id}'`, isReported: true },
  takeOver: {
    what: (id) => `take over the job '${id}'`,
    isReported: true,
    longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS,
  },
  endMark: { what: (id) => `end the mark of the schedule '${id}'`, ...ALL },
  unblock: { what: (id) => `unblock the job '${id}'`, ...ALL },
  planAgain: { what: (id) => `plan the schedule '${id}', whose job was deleted`, ...ALL },
  endRetry: { what: (id) => `end the retries of the schedule '${id}'`, ...ALL },
  thawSchedule: { what: (id) => `release the schedule '${id}' from a freeze`, ...ALL },
  thawJob: { what: (id) => `release the job '${id}' from a freeze`, ...ALL },
  removeJob: { what: (id) => `remove the old job '${id}'`, ...ALL },
  removeSchedule: { what: (id) => `remove the done schedule '${id}'`, ...ALL },
  removeFreeze: { what: (id) => `remove the old freeze '${id}'`, ...ALL },
  route: { what: (task) => `send the task '${task}' to its external queue`, ...ALL },
  adopt: { what: (id) => `send the job '${id}' to its external queue`, ...ALL },
  postpone: { what: (id) => `postpone the job '${id}'`, ...ALL },
  cancel: { what: (id) => `cancel the job '${id}' of a paused schedule`, ...ALL },
  // A wait for a lock is an error, because `start` must not continue without the set.
  declare: { what: (set) => `write the declared set '${set}'`, ...ALL, isLockWait: () => false },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS

export class Isolations {
  readonly #dialect: Pick<Dialect, 'isLockWait' | 'isDenied'>
  readonly #onSetAside: OnSetAside
  readonly #made = new Map<OperationName, Isolation>()

  constructor(dialect: Pick<Dialect, 'isLockWait' | 'isDenied'>, onSetAside: OnSetAside = () => undefined) {
    this.#dialect = dialect
    this.#onSetAside = onSetAside
  }

  of(name: OperationName): Isolation {
    const made = this.#made.get(name) ?? this.#make(name)
    this.#made.set(name, made)
    return made
  }

  /** One entry for each row. */
  setAside(): SetAsideRow[] {
    const rows = [...this.#made].flatMap(([name, isolation]) =>
      isolation.refused().map(({ id, error }) => setAsideRow(name, id, error)),
    )
    return [...new Map(rows.map((row) => [row.id, row])).values()]
  }

  #make(name: OperationName): Isolation {
    const { isLockWait, isDenied } = this.#dialect
    const operation: Operation = OPERATIONS[name]
    const onRefused = ({ id }: { id: string }, error: unknown) =>
      this.#onSetAside(setAsideRow(name, id, error), error)
    return new Isolation({
      isLockWait,
      isDenied,
      ...operation,
      ...(operation.isReported !== true && { onRefused }),
    })
  }
}

function setAsideRow(name: OperationName, id: string, error: unknown): SetAsideRow {
  const reason = error === null ? '' : ` (${messageOf(error)})`
  return { id, problem: `cannot ${OPERATIONS[name].what(id)}${reason}` }
}
