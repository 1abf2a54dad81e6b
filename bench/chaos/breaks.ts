/**
 * Breaks the product on purpose, to prove that the harness detects bugs. Each break removes one protection, together
 * with other protections that would hide the bug. Some breaks also add a pause that makes a race more likely. With
 * the protection in place, the pause alone does no harm.
 */
import { fileURLToPath } from 'node:url'

/** A string that occurs exactly once in a file of dist/, and its replacement. */
export interface Mutation {
  /** The path below dist/. */
  readonly file: string
  readonly find: string
  readonly put: string
}

export interface Break {
  readonly name: BreakName
  /** Which protection is removed, and the consequence. */
  readonly removes: string
  readonly mutations: readonly Mutation[]
  /** Statements for MySQL and MariaDB, run once, after the tables are created and before the workers start. */
  readonly sql: readonly string[]
  /** The faults that expose the break; empty if none are needed. */
  readonly faults: readonly string[]
  /** Rules of the checker. The break must violate at least one of them. */
  readonly rules: readonly string[]
}

export const BREAK_NAMES = [
  'recheck',
  'unique-key',
  'fence',
  'high-water',
  'lock-order',
  'advance',
  'take-over',
  'evict',
] as const
export type BreakName = (typeof BREAK_NAMES)[number]

const pause = (ms: number | string) => `await new Promise((resolve) => setTimeout(resolve, ${ms}));`

/** A worker that wakes up with an old mark submits anyway. */
const ANY_MARK: Mutation = {
  file: 'store/sql/submit.js',
  find: 'row.worker === worker && fromText(row.marked)?.getTime() === markedAt.get(row.id)',
  put: 'markedAt.has(row.id)',
}
/** Each UPDATE repeats the condition that the worker still holds the mark. */
const ANY_HOLDER: Mutation = {
  file: 'store/sql/submit.js',
  find: "`t.worker = b.worker AND ${dialect.instant('t.marked')} = b.marked`",
  put: "(dialect, '1 = 1')",
}
/** Each mark repeats the condition that the schedule is still due. */
const ANY_INSTANT: Mutation = {
  file: 'store/sql/mark.js',
  find: "and('+wake_at <= ?', first.clock)",
  put: "and('1 = 1')",
}
/** The planner treats slots that are not due as due. */
const PLANS_EARLY: Mutation = {
  file: 'model/plan.js',
  find: 'if (first === null || ((isOver || !decided) && first > now))',
  put: 'if (first === null)',
}
/** Makes it likely that a worker holds a mark at the moment it is suspended. */
const SLOW_SUBMIT: Mutation = {
  file: 'scheduler/scheduler.js',
  find: 'const isFull = marks.length === most;',
  put: `if (marks.length > 0) ${pause(800)} const isFull = marks.length === most;`,
}
const LOCK_SCHEDULES = 'const rows = await lockRows(tx, {\n        table: tx.tables.schedule,'

export const BREAKS: readonly Break[] = [
  {
    name: 'recheck',
    removes:
      'submit checks neither that the worker still holds the mark nor that the schedule is still due, so a worker that was suspended between mark and submit repeats a submission that another worker has made',
    mutations: [
      ANY_MARK,
      ANY_HOLDER,
      {
        file: 'model/plan.js',
        find: 'if (!edited && !isDue(schedule, circumstances.now))\n        return null;',
        put: '',
      },
      PLANS_EARLY,
      SLOW_SUBMIT,
    ],
    sql: [],
    faults: ['worker.stop'],
    rules: ['early'],
  },
  {
    name: 'unique-key',
    removes:
      'the table job has no unique keys, and the locks and marks that would also prevent duplicates are disabled, so two workers that wake at the same time both submit, as with any scheduler that reads first and then marks',
    mutations: [
      ANY_MARK,
      ANY_HOLDER,
      ANY_INSTANT,
      {
        file: 'store/sql/mark.js',
        find: "LIMIT ${integerLiteral(limit)} ${dialect.locked('skip')}`, [...from.params, ...except.params]);",
        put: `LIMIT \${integerLiteral(limit)}\`, [...from.params, ...except.params]); ${pause(50)}`,
      },
      {
        file: 'store/sql/submit.js',
        find: LOCK_SCHEDULES,
        put: `const read = async (tx, { table, columns, ids }) => { const rows = await tx.rows(\`SELECT \${columns} FROM \${table} WHERE id IN (\${placeholders(ids)}) ORDER BY id\`, ids); ${pause(100)} return rows }; ${LOCK_SCHEDULES.replace('lockRows', 'read')}`,
      },
    ],
    sql: [
      // Statements refer to the primary key, so the table keeps one, but it no longer makes ids unique.
      'ALTER TABLE job DROP INDEX job_occurrence, DROP INDEX job_open, DROP PRIMARY KEY, ADD COLUMN copy BIGINT NOT NULL AUTO_INCREMENT, ADD PRIMARY KEY (id, copy), ADD KEY job_copy (copy), ADD INDEX job_occurrence (periodic_task_uid, slot), ADD INDEX job_open (open_key, open_turn)',
    ],
    faults: [],
    rules: ['doubled'],
  },
  {
    name: 'fence',
    removes:
      'the outcome of a run is written even if another worker has taken over the job, and a worker that was considered dead does not signal its handlers',
    mutations: [
      {
        file: 'store/sql/settle.js',
        find: '!hasStarted(row) || row.worker !== fence.worker || row.claim !== fence.claim',
        put: 'row === undefined',
      },
      {
        file: 'executor/running-attempts.js',
        find: 'if (attempt.job.worker === workerId)',
        put: 'if (attempt.job.worker === null)',
      },
      {
        file: 'worker/membership.js',
        find: 'onCutOff(this.#id);',
        put: 'void 0;',
      },
    ],
    sql: [],
    faults: ['worker.stop'],
    rules: ['zombie', 'counter', 'together'],
  },
  {
    name: 'high-water',
    removes:
      'last_slot is neither checked nor stored, so a nextrun that is manually set back to a decided slot repeats that slot',
    mutations: [
      {
        file: 'model/plan.js',
        find: 'const slot = nowAfter(now, schedule.lastSlot);',
        put: 'const slot = schedule.nextRunAt;',
      },
      {
        file: 'model/plan.js',
        find: 'const decided = lastSlot !== null && schedule.nextRunAt <= lastSlot && !isAhead(lastSlot, now);',
        put: 'const decided = false;',
      },
      {
        file: 'store/sql/submit.js',
        find: 'last_slot: plan.lastSlot && toText(plan.lastSlot),',
        put: 'last_slot: null,',
      },
    ],
    sql: [],
    faults: ['edit.schedule', 'edit.storm', 'edit.prune'],
    rules: ['backwards', 'doubled', 'lost', 'counter'],
  },
  {
    name: 'lock-order',
    removes:
      'outcome writes lock the rows of schedules in the opposite order to submissions, so the two wait for each other; outcomes are written at whole seconds, like submissions',
    mutations: [
      {
        file: 'store/sql/submit.js',
        find: LOCK_SCHEDULES,
        put: `for (const id of marks.map((mark) => mark.id).toSorted()) { await tx.rows(\`SELECT id FROM \${tx.tables.schedule} WHERE id = ? FOR UPDATE\`, [id]); ${pause(2)} } ${LOCK_SCHEDULES}`,
      },
      {
        file: 'store/sql/settle.js',
        find: 'const got = await lockRows(tx, { table: schedule, columns, ids });',
        put: `${pause('1000 - (Date.now() % 1000)')} for (const id of ids.toSorted().toReversed()) { await tx.rows(\`SELECT id FROM \${schedule} WHERE id = ? FOR UPDATE\`, [id]); ${pause(2)} } const got = await lockRows(tx, { table: schedule, columns, ids });`,
      },
    ],
    sql: [],
    faults: [],
    rules: ['deadlock'],
  },
  {
    name: 'advance',
    removes:
      'the jobs are inserted in a separate transaction, after the one that advances nextrun, so a worker that is killed in between loses them',
    mutations: [
      {
        file: 'store/sql/submit.js',
        find: 'return write(some, how);',
        put: `return write(some, how).then(async (result) => { const { later } = globalThis; ${pause(500)} await context.transaction((tx) => insertScheduleJobs(tx, later)); return result; });`,
      },
      {
        file: 'store/sql/submit.js',
        find: 'await insertScheduleJobs(tx, plannedJobs(careful ? planned : await foldSkips(tx, planned)));',
        put: 'globalThis.later = plannedJobs(await foldSkips(tx, planned));',
      },
    ],
    sql: [],
    faults: ['worker.kill'],
    rules: ['lost'],
  },
  {
    name: 'take-over',
    removes: 'no worker takes over the jobs of a dead worker',
    mutations: [
      {
        file: 'worker/take-over.js',
        find: 'const orphans = await executing.orphans(ORPHANS_AT_ONCE);',
        put: 'const orphans = [];',
      },
    ],
    sql: [],
    faults: ['worker.kill'],
    rules: ['unfinished'],
  },
  {
    name: 'evict',
    removes:
      'a worker that evicts a dead worker waits until the row of the dead worker is unlocked, and writes no heartbeats in the meantime, so all workers stop',
    mutations: [
      {
        file: 'worker/dead-workers.js',
        find: "if (eviction === 'locked')",
        put: `if (eviction === 'locked') while ((await workers.evict(worker.id, worker.heartbeatAt)) === 'locked') ${pause(50)} if (eviction === 'locked')`,
      },
    ],
    sql: [],
    faults: ['locks.killed-worker'],
    rules: ['stalled'],
  },
]

/** @throws RangeError that lists the known breaks */
export function breakNamed(name: string): Break {
  const found = BREAKS.find((one) => one.name === name)
  if (found === undefined)
    throw new RangeError(`unknown break '${name}'; use one of ${BREAK_NAMES.join(', ')}`)
  return found
}

/** Node.js options and environment of a process that runs the broken product. */
export function brokenProcess(mutations: readonly Mutation[]): {
  readonly execArgv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
} {
  return {
    execArgv: ['--import', fileURLToPath(new URL('break-register.mjs', import.meta.url))],
    environment: { KALENDS_CHAOS_BREAK: JSON.stringify(mutations) },
  }
}
