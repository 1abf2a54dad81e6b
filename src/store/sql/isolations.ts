/**
 * The operations that write several rows, and the rows that each of them leaves out because the database rejected them:
 * a trigger, a CHECK or a foreign key of the application refused the write.
 */
import { messageOf } from '../../errors.ts'
import type { SetAsideRow } from '../../model/diagnosis.ts'
import type { Dialect } from '../database.ts'
import type { OnSetAside } from '../refusal.ts'
import { Isolation, type IsolationOptions } from './isolate.ts'
import { TABLE_NAMES } from './tables.ts'

interface Operation extends Partial<Pick<IsolationOptions, 'few' | 'longestWaitedMs' | 'isLockWait'>> {
  /** The kind of row. */
  readonly of: 'schedule' | 'job' | 'task' | 'set' | 'freeze'
  /** What failed, as it follows "cannot". */
  readonly what: (id: string) => string
  /** What happens to the row; default: it is tried again within five minutes. */
  readonly next?: string
  /** What to do; default: repair what rejects the write. */
  readonly advice?: string
  /** Whether the caller reports each refusal, because the row may be rejected by a callback of the application. */
  readonly isReported?: boolean
}

/** This is short, because a stopping worker tries for only a few seconds to write its outcomes. */
export const LONGEST_SETTLE_BACK_OFF_MS = 4000

/** These operations go through all of their rows, so they find every row that is rejected, even if all of them are. */
const ALL = { few: Infinity }

const AT_NEXT_PRUNING = 'it tries again when it prunes the next time'

const OPERATIONS = {
  mark: { of: 'schedule', what: (id) => `mark the schedule '${id}'` },
  plan: {
    of: 'schedule',
    what: (id) => `plan the schedule '${id}'`,
    next: 'it leaves the schedule to workers that can read its timer',
    advice: 'Upgrade Node.js or Kalends on this host, or edit the timer',
  },
  promote: { of: 'job', what: (id) => `make the job '${id}' claimable` },
  claim: { of: 'job', what: (id) => `start the job '${id}'` },
  handOver: { of: 'job', what: (id) => `hand over the job '${id}'`, isReported: true },
  takeOver: {
    of: 'job',
    what: (id) => `take over the job '${id}'`,
    longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS,
  },
  endMark: { of: 'schedule', what: (id) => `end the mark of the schedule '${id}'`, ...ALL },
  unblock: { of: 'job', what: (id) => `unblock the job '${id}'`, ...ALL },
  planAgain: { of: 'schedule', what: (id) => `plan the schedule '${id}', whose job was deleted`, ...ALL },
  endRetry: { of: 'schedule', what: (id) => `end the retries of the schedule '${id}'`, ...ALL },
  thawSchedule: { of: 'schedule', what: (id) => `release the schedule '${id}' from a freeze`, ...ALL },
  thawJob: { of: 'job', what: (id) => `release the job '${id}' from a freeze`, ...ALL },
  removeJob: { of: 'job', what: (id) => `remove the old job '${id}'`, next: AT_NEXT_PRUNING, ...ALL },
  removeSchedule: {
    of: 'schedule',
    what: (id) => `remove the done schedule '${id}'`,
    next: AT_NEXT_PRUNING,
    ...ALL,
  },
  removeFreeze: {
    of: 'freeze',
    what: (id) => `remove the old freeze '${id}'`,
    next: AT_NEXT_PRUNING,
    ...ALL,
  },
  route: { of: 'task', what: (task) => `send the task '${task}' to its external queue`, ...ALL },
  adopt: { of: 'job', what: (id) => `send the job '${id}' to its external queue`, ...ALL },
  postpone: { of: 'job', what: (id) => `postpone the job '${id}'`, ...ALL },
  cancel: {
    of: 'job',
    what: (id) => `cancel the job '${id}' of a paused schedule`,
    next: 'the job stays as it is, so cancel it yourself',
    ...ALL,
  },
  // A wait for a lock is an error, because `start` must not continue without the set.
  declare: {
    of: 'set',
    what: (set) => `write the declared set '${set}'`,
    ...ALL,
    isLockWait: () => false,
  },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS

export class Isolations {
  readonly #dialect: Pick<Dialect, 'isLockWait' | 'isDeniedOn'>
  readonly #tables: readonly string[]
  readonly #onSetAside: OnSetAside
  readonly #made = new Map<OperationName, Isolation>()

  /** @param prefix  of the names of the tables */
  constructor(
    dialect: Pick<Dialect, 'isLockWait' | 'isDeniedOn'>,
    prefix: string,
    onSetAside: OnSetAside = () => undefined,
  ) {
    this.#dialect = dialect
    this.#tables = TABLE_NAMES.map((name) => `${prefix}${name}`)
    this.#onSetAside = onSetAside
  }

  /** Whether the user may not write to a table of Kalends. */
  readonly isDenied = (error: unknown): boolean => this.#dialect.isDeniedOn(error, this.#tables)

  of(name: OperationName): Isolation {
    const made = this.#made.get(name) ?? this.#make(name)
    this.#made.set(name, made)
    return made
  }

  /** One entry for each row. */
  setAside(): SetAsideRow[] {
    const rows = new Map<string, SetAsideRow>()
    for (const [name, isolation] of this.#made)
      for (const { id, error } of isolation.setAside())
        rows.set(`${OPERATIONS[name].of} ${id}`, { id, problem: problemOf(name, id, error) })
    return [...rows.values()]
  }

  #make(name: OperationName): Isolation {
    const operation: Operation = OPERATIONS[name]
    const onRefused: IsolationOptions['onRefused'] = (refused) => {
      const [first] = refused
      if (first === undefined) return
      const { id } = first.item
      const others = refused.length > 1 ? `, and the same for ${String(refused.length - 1)} more` : ''
      const next = operation.next ?? 'it tries again within five minutes'
      this.#onSetAside(
        `Kalends ${problemOf(name, id, first.error)}${others}; ${next}. ${operation.advice ?? 'Repair what rejects the write'}`,
        { kind: operation.of, id, error: first.error },
      )
    }
    return new Isolation({
      isLockWait: this.#dialect.isLockWait,
      isDenied: this.isDenied,
      ...operation,
      ...(operation.isReported !== true && { onRefused }),
    })
  }
}

function problemOf(name: OperationName, id: string, error: unknown): string {
  const reason = error === null ? '' : ` (${messageOf(error)})`
  return `cannot ${OPERATIONS[name].what(id)}${reason}`
}
