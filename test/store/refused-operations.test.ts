/**
 * Every operation that writes several rows writes the others if the database rejects one of them: a trigger, a CHECK or
 * a foreign key of the application refuses the write. The rejected row is set aside, and named.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fenceOf } from '../../src/model/job.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { OnSetAside } from '../../src/store/refusal.ts'
import type { Store } from '../../src/store/store.ts'
import {
  clock,
  insert,
  job,
  onEachStore,
  planned,
  policies,
  setChanges,
  settings,
  setVersion,
  type StoreUnderTest,
  submitDue,
} from './conformance.ts'
import { refusal } from '../support/refusal.ts'

// No back-off ends during a test.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

interface Rejected {
  readonly when: 'INSERT' | 'UPDATE' | 'DELETE'
  readonly table: string
  /** Which writes are rejected, with OLD or NEW; default: those of the row whose id is `bad`. */
  readonly which?: string
  /** Writes each row; `bad` comes first. */
  readonly row: (under: StoreUnderTest, id: string) => Promise<unknown>
  readonly before?: (under: StoreUnderTest) => Promise<unknown>
  /** @returns what the operation itself reports about the rejected row */
  readonly run: (under: StoreUnderTest) => Promise<unknown>
  /** Tries the rejected row again; default: `run`. */
  readonly again?: (under: StoreUnderTest) => Promise<unknown>
  /** Selects, as `id`, the rows that the operation has written. */
  readonly written: string
  /** Whether the operation reports the row itself, so it is not set aside. */
  readonly isReported?: boolean
  /** Whether the row is reported when it is set aside; otherwise, the caller does so. */
  readonly isLogged?: boolean
}

/**
 * - `reads`: the operation writes nothing, or returns a store.
 * - `one row`: the rows that it writes belong together, and the caller learns that nothing was written.
 * - `all or none`: by contract.
 */
type Kind = 'reads' | 'one row' | 'all or none'
type Part = {
  [Name in keyof Store]: Store[Name] extends (...given: never) => unknown ? never : Name
}[keyof Store]
type Operations = {
  readonly [Name in Part]: Readonly<Record<keyof Store[Name], Kind | Readonly<Record<string, Rejected>>>>
}

const PAST = '2020-01-01 00:00:00.000'
const FUTURE = '2090-01-01 00:00:00.000'
const MINUTE = 60_000
const queue = { name: 'q', reports: true, timeoutMs: MINUTE, deadlineMs: MINUTE }
const running = { state: 'running', worker: 'w/1', attempt: 1, claim: 1, started: PAST }
const external = { state: 'external', queue: 'q', worker: 'w/1', attempt: 1, claim: 1, started: PAST }
const collected = () => {
  const refused: string[] = []
  return { refused, onRefused: (id: string) => void refused.push(id) }
}
const due = async (under: StoreUnderTest, id: string) =>
  planned(under, id, new Date((await clock(under)).getTime() - 1000))
const marked = (ends: string) => async (under: StoreUnderTest, id: string) =>
  planned(under, id, null, { worker: 'gone/1', marked: PAST, mark_ends: ends })
const soon = async (under: StoreUnderTest, id: string) =>
  marked(new Date((await clock(under)).getTime() + MINUTE).toISOString().replace('T', ' ').replace('Z', ''))(
    under,
    id,
  )
const sweep = ({ store }: StoreUnderTest) => store.scheduling.sweep('w/1', MINUTE, 'everything')
const attemptOf = (id: string) => ({
  fence: { id, worker: 'w/1', claim: 1 },
  end: { kind: 'success', result: '"done"' } as const,
  policy: DEFAULT_POLICY,
})
const EACH = ['bad', 'good', 'other']
const frozenSchedule: Rejected = {
  when: 'UPDATE',
  table: 'periodic_task',
  row: async (under, id) =>
    planned(under, id, new Date((await clock(under)).getTime() + MINUTE), { frozen_until: FUTURE }),
  run: sweep,
  written: `SELECT id FROM periodic_task WHERE frozen_until < '${FUTURE}'`,
}
const frozenJob: Rejected = {
  when: 'UPDATE',
  table: 'job',
  row: (under, id) => job(under, id, { frozen_until: FUTURE }),
  run: sweep,
  written: 'SELECT id FROM job WHERE frozen_until IS NULL',
}
const finishedAt = (under: StoreUnderTest, id: string, second: number) =>
  job(under, id, {
    periodic_task_id: 's',
    slot: `2020-01-01 00:00:0${String(second)}.000`,
    state: 'success',
    finished: FUTURE,
  })
const thaw = ({ store }: StoreUnderTest) => store.freezes.thaw()
/** A job that ends, and a job of the same schedule that waits for it and cannot be written. */
const nextInTurn = (ending: Record<string, string | number>, run: Rejected['run']): Rejected => ({
  when: 'UPDATE',
  table: 'job',
  row: async (under, id) => {
    if (id === 'other') return
    if (id === 'bad') await planned(under, 's', null, { overlap: 'queue-one' })
    await job(under, id, { periodic_task_id: 's', ...(id === 'bad' ? { state: 'blocked' } : ending) })
  },
  run,
  written:
    "SELECT 'other' AS id UNION SELECT id FROM job WHERE state NOT IN ('waiting', 'running', 'external', 'blocked')",
  isReported: true,
})

const OPERATIONS: Operations = {
  schedules: {
    ownedBy: 'reads',
    in: 'reads',
    create: 'one row',
    put: 'one row',
    get: 'reads',
    update: 'one row',
    pause: {
      'cancels jobs': {
        when: 'UPDATE',
        table: 'job',
        before: (under) => planned(under, 's', null, { overlap: 'allow' }),
        row: (under, id) => job(under, id, { periodic_task_id: 's', exclusive: 0 }),
        run: ({ store }) => store.schedules.pause('s', { reason: 'why', jobs: 'cancel' }),
        written:
          "SELECT id FROM job WHERE state = 'cancelled' AND EXISTS (SELECT 1 FROM periodic_task WHERE enabled = 0)",
      },
      'marks running jobs': {
        when: 'UPDATE',
        table: 'job',
        before: (under) => planned(under, 's', null, { overlap: 'allow' }),
        row: (under, id) => job(under, id, { periodic_task_id: 's', exclusive: 0, ...running }),
        run: ({ store }) => store.schedules.pause('s', { reason: 'why', jobs: 'cancel' }),
        written: 'SELECT id FROM job WHERE no_retry IS NOT NULL',
      },
    },
    delete: 'one row',
    reset: 'one row',
    count: 'reads',
    runNow: 'one row',
    now: 'reads',
  },
  jobs: {
    ownedBy: 'reads',
    in: 'reads',
    submit: 'all or none',
    existing: 'reads',
    countOpen: 'reads',
    get: 'reads',
    cancel: {
      'the next job cannot be written': nextInTurn({}, ({ store }) =>
        store.jobs.cancel('good', () => 'cancel'),
      ),
    },
    finish: {
      'the next job cannot be written': nextInTurn(external, ({ store }) =>
        store.jobs.finish('good', () => ({ state: 'success', error: null, result: '1' }), {
          startedAt: null,
          finishedAt: null,
        }),
      ),
    },
    retry: 'one row',
  },
  scheduling: {
    mostAtOnce: 'reads',
    submitsInParallel: 'reads',
    look: 'reads',
    markDue: {
      marks: {
        when: 'UPDATE',
        table: 'periodic_task',
        row: due,
        run: ({ store }) => store.scheduling.markDue('w/1', 10, MINUTE),
        written: "SELECT id FROM periodic_task WHERE worker = 'w/1'",
      },
    },
    submit: {
      'inserts jobs': {
        when: 'INSERT',
        table: 'job',
        which: "NEW.periodic_task_id = 'bad' AND NEW.state <> 'skipped'",
        row: due,
        run: async ({ store }) => {
          const marks = await store.scheduling.markDue('w/1', 10, MINUTE)
          const { refused } = await store.scheduling.submit('w/1', marks, submitDue)
          return refused.map(({ item }) => item.id)
        },
        written: "SELECT periodic_task_id AS id FROM job WHERE state = 'waiting'",
        isReported: true,
      },
      'advances schedules': {
        when: 'UPDATE',
        table: 'periodic_task',
        which: "OLD.id = 'bad' AND OLD.worker IS NOT NULL",
        row: due,
        run: async ({ store }) => {
          const marks = await store.scheduling.markDue('w/1', 10, MINUTE)
          const { refused } = await store.scheduling.submit('w/1', marks, submitDue)
          return refused.map(({ item }) => item.id)
        },
        written: "SELECT periodic_task_id AS id FROM job WHERE state = 'waiting'",
        isReported: true,
      },
    },
    clearStaleMarks: {
      'ends marks': {
        when: 'UPDATE',
        table: 'periodic_task',
        row: soon,
        run: ({ store }) => store.scheduling.clearStaleMarks('w/1', MINUTE),
        written: 'SELECT id FROM periodic_task WHERE worker IS NULL',
      },
    },
    sweep: {
      'ends stale marks': {
        when: 'UPDATE',
        table: 'periodic_task',
        row: soon,
        run: sweep,
        written: 'SELECT id FROM periodic_task WHERE worker IS NULL',
      },
      'ends marks in the far future': {
        when: 'UPDATE',
        table: 'periodic_task',
        row: marked(FUTURE),
        run: sweep,
        written: 'SELECT id FROM periodic_task WHERE worker IS NULL',
      },
      'unblocks jobs': {
        when: 'UPDATE',
        table: 'job',
        row: async (under, id) => {
          await planned(under, id, null)
          await job(under, id, { periodic_task_id: id, state: 'blocked' })
        },
        run: sweep,
        written: "SELECT id FROM job WHERE state = 'waiting'",
      },
      'plans schedules whose jobs were deleted': {
        when: 'UPDATE',
        table: 'periodic_task',
        row: (under, id) => planned(under, id, null, { idle: 'awaiting-finish' }),
        run: sweep,
        written: 'SELECT id FROM periodic_task WHERE idle IS NULL',
      },
      'ends retries whose jobs were deleted': {
        when: 'UPDATE',
        table: 'periodic_task',
        row: (under, id) => planned(under, id, null, { retry_at: FUTURE, retry: 1 }),
        run: sweep,
        written: 'SELECT id FROM periodic_task WHERE retry_at IS NULL',
      },
      'releases schedules': frozenSchedule,
      'releases jobs': frozenJob,
    },
    furthest: 'reads',
  },
  executing: {
    promoteDue: {
      promotes: {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, { run_at: PAST }),
        run: ({ store }) => store.executing.promoteDue(10),
        written: 'SELECT id FROM job WHERE run_at IS NULL',
      },
    },
    claim: {
      claims: {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id),
        run: ({ store }) => store.executing.claim('w/1', policies('task'), 10, ''),
        written: "SELECT id FROM job WHERE state = 'running'",
      },
      'holds frozen jobs': {
        when: 'UPDATE',
        table: 'job',
        before: (under) => insert(under, 'schedule_freeze', { task: 'task', until: FUTURE, created: PAST }),
        row: (under, id) => job(under, id),
        run: ({ store }) => store.executing.claim('w/1', policies('task'), 10, ''),
        written: 'SELECT id FROM job WHERE frozen_until IS NOT NULL',
      },
    },
    leaveOut: 'reads',
    handOver: {
      'hands over': {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, { queue: 'q' }),
        run: async ({ store }) => {
          const { refused, onRefused } = collected()
          await store.executing.handOver('w/1', queue, 10, '', async () => undefined, onRefused)
          return refused
        },
        isLogged: false,
        written: "SELECT id FROM job WHERE state = 'external'",
      },
    },
    route: {
      'adopts jobs': {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id),
        run: ({ store }) => store.executing.route('w/1', 'q', ['task']),
        written: "SELECT id FROM job WHERE queue = 'q'",
      },
      'adds routes': {
        when: 'INSERT',
        table: 'task_queue',
        which: "NEW.task = 'bad'",
        row: async () => undefined,
        run: ({ store }) => store.executing.route('w/1', 'q', EACH),
        written: 'SELECT task AS id FROM task_queue',
      },
      'deletes routes': {
        when: 'DELETE',
        table: 'task_queue',
        which: "OLD.task = 'bad'",
        row: (under, id) => insert(under, 'task_queue', { task: id, queue: 'q' }),
        run: ({ store }) => store.executing.route('w/1', 'q', ['task']),
        written:
          "SELECT id FROM (SELECT 'bad' AS id UNION SELECT 'good' UNION SELECT 'other') AS each_one WHERE id NOT IN (SELECT task FROM task_queue)",
      },
    },
    postpone: {
      postpones: {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, { queue: 'q' }),
        run: ({ store }) => store.executing.postpone(EACH.map((id) => ({ id, error: 'no' }))),
        written: "SELECT id FROM job WHERE error = 'no'",
      },
    },
    handedOver: 'reads',
    settle: {
      'writes outcomes': {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, running),
        run: async ({ store }) => {
          const { refused } = await store.executing.settle(EACH.map(attemptOf))
          return refused.map(({ item }) => item.fence.id)
        },
        written: "SELECT id FROM job WHERE state = 'success'",
        isReported: true,
      },
      'takes over': {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, running),
        run: ({ store }) => store.executing.settle(EACH.map(attemptOf), true),
        written: "SELECT id FROM job WHERE state = 'success'",
      },
      'the next job cannot be written': nextInTurn(running, async (under) => {
        const { refused } = await under.store.executing.settle([attemptOf('good')])
        expect(refused).toEqual([])
        expect(await under.query("SELECT result FROM job WHERE id = 'good'")).toEqual([{ result: '"done"' }])
      }),
    },
    stopRequests: 'reads',
    saveProgress: {
      'writes progress': {
        when: 'UPDATE',
        table: 'job',
        row: (under, id) => job(under, id, running),
        run: async ({ store }) => {
          const { refused } = await store.executing.saveProgress(
            EACH.map((id) => ({ fence: fenceOf({ id, worker: 'w/1', claim: 1 }), json: '1' })),
          )
          return refused.map(({ item }) => item.fence.id)
        },
        written: 'SELECT id FROM job WHERE progress IS NOT NULL',
        isReported: true,
      },
    },
    appendLogs: {
      'inserts lines': {
        when: 'INSERT',
        table: 'job_log',
        which: "NEW.job_id = 'bad'",
        row: (under, id) => job(under, id),
        run: async ({ store }) => {
          const at = new Date(0)
          const { refused } = await store.executing.appendLogs(
            EACH.map((jobId) => ({ jobId, at, level: 'info', message: 'text' })),
          )
          return refused.map(({ item }) => item.jobId)
        },
        written: 'SELECT job_id AS id FROM job_log',
        isReported: true,
      },
    },
    replaceLogs: {
      'replaces lines': {
        when: 'UPDATE',
        table: 'job_log',
        which: "OLD.message = 'bad'",
        row: (under, id) => insert(under, 'job_log', { job_id: 'j', at: PAST, level: 'info', message: id }),
        run: async ({ store }) => {
          const replaced = store.executing.replaceLogs('j', new Map(EACH.map((id) => [id, `new ${id}`])))
          await expect(replaced).rejects.toThrow()
          return ['bad']
        },
        written: "SELECT SUBSTR(message, 5) AS id FROM job_log WHERE message LIKE 'new %'",
        isReported: true,
      },
    },
    held: 'reads',
    orphans: 'reads',
  },
  workers: {
    canBeCutOff: 'reads',
    register: 'one row',
    heartbeat: 'one row',
    list: 'reads',
    running: 'reads',
    evict: 'one row',
    unregister: 'one row',
  },
  declared: {
    sync: {
      'writes the other sets, and no part of this set': {
        when: 'INSERT',
        table: 'periodic_task',
        which: "NEW.id = 'bad schedule'",
        row: async () => undefined,
        run: async ({ store }) => {
          const written: string[] = []
          for (const set of EACH) {
            const schedules = [`a ${set}`, `${set} schedule`]
            const create = schedules.map((id) => ({ id, settings: settings({ declaredBy: set }) }))
            const isWritten = await store.declared.sync(setVersion(set, schedules), ({ existing }) =>
              existing.length > 0 ? setChanges({}) : setChanges({ create }),
            )
            if (!isWritten) written.push(set)
          }
          return written
        },
        written: 'SELECT declared_by AS id FROM periodic_task GROUP BY declared_by',
      },
    },
  },
  retention: {
    prune: {
      'removes jobs by age': {
        when: 'DELETE',
        table: 'job',
        row: (under, id) => job(under, id, { state: 'success', finished: PAST }),
        run: ({ store }) => store.retention.prune({ ageMs: 1000, perSchedule: 10 }, 500),
        written:
          "SELECT id FROM (SELECT 'bad' AS id UNION SELECT 'good' UNION SELECT 'other') AS each_one WHERE id NOT IN (SELECT id FROM job)",
      },
      'removes jobs by number': {
        when: 'DELETE',
        table: 'job',
        before: async (under) => {
          await planned(under, 's', null)
          await finishedAt(under, 'newest', 9)
        },
        row: (under, id) => finishedAt(under, id, EACH.indexOf(id)),
        run: ({ store }) => store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 500),
        written:
          "SELECT id FROM (SELECT 'bad' AS id UNION SELECT 'good' UNION SELECT 'other') AS each_one WHERE id NOT IN (SELECT id FROM job)",
      },
      'removes done schedules': {
        when: 'DELETE',
        table: 'periodic_task',
        row: (under, id) => planned(under, id, null, { idle: 'done', after_done: 'delete', created: PAST }),
        run: ({ store }) => store.retention.prune({ ageMs: 1000, perSchedule: 10 }, 500),
        written:
          "SELECT id FROM (SELECT 'bad' AS id UNION SELECT 'good' UNION SELECT 'other') AS each_one WHERE id NOT IN (SELECT id FROM periodic_task)",
      },
      'removes freezes': {
        when: 'DELETE',
        table: 'schedule_freeze',
        row: (under, id) => insert(under, 'schedule_freeze', { id, until: PAST, created: PAST }),
        run: ({ store }) => store.retention.prune({ ageMs: 1000, perSchedule: 10 }, 500),
        written:
          "SELECT id FROM (SELECT 'bad' AS id UNION SELECT 'good' UNION SELECT 'other') AS each_one WHERE id NOT IN (SELECT id FROM schedule_freeze)",
      },
    },
  },
  freezes: {
    add: 'one row',
    end: {
      'releases schedules': {
        ...frozenSchedule,
        before: (under) => insert(under, 'schedule_freeze', { id: 'f', until: FUTURE, created: PAST }),
        run: async ({ store }) => expect(await store.freezes.end('f')).not.toBeNull(),
        again: thaw,
      },
      'releases jobs': {
        ...frozenJob,
        before: (under) => insert(under, 'schedule_freeze', { id: 'f', until: FUTURE, created: PAST }),
        run: async ({ store }) => expect(await store.freezes.end('f')).not.toBeNull(),
        again: thaw,
      },
    },
    inForce: 'reads',
    thaw: {
      'releases schedules': { ...frozenSchedule, run: thaw },
      'releases jobs': { ...frozenJob, run: thaw },
    },
  },
  lists: {
    ownedBy: 'reads',
    schedules: 'reads',
    jobs: 'reads',
    jobIds: 'reads',
    scheduleCounts: 'reads',
    jobCounts: 'reads',
    recentRuns: 'reads',
    openJobs: 'reads',
    history: 'reads',
    logs: 'reads',
    attempts: 'reads',
    failures: 'reads',
    tasks: 'reads',
    timerGroups: 'reads',
    hasRun: 'reads',
    timers: 'reads',
    finishedPerHour: 'reads',
    changeTokens: 'reads',
  },
  inspection: { schemaDrift: 'reads', inspect: 'reads' },
}

const CASES = Object.entries(OPERATIONS).flatMap(([part, operations]) =>
  Object.entries(operations).flatMap(([name, kind]) =>
    typeof kind === 'string'
      ? []
      : Object.entries(kind).map(([title, rejected]) => [`${part}.${name}: ${title}`, rejected] as const),
  ),
)

onEachStore((file) => {
  describe('an operation writes the other rows if the database rejects one', () => {
    it.each(CASES)(
      '%s',
      async (_, {
        when,
        table,
        which,
        row,
        before,
        run,
        again = run,
        written,
        isReported = false,
        isLogged = true,
      }) => {
        // Another store, because each store remembers the rows that it has set aside.
        const onSetAside = vi.fn<OnSetAside>()
        const under = { ...file, store: await file.another({ onSetAside }) }
        await before?.(under)
        for (const id of EACH) await row(under, id)
        const condition = which ?? `OLD.id = 'bad'`
        await under.query(refusal(under.kind, when, table, condition))
        under.afterwards(() => under.query('DROP TRIGGER IF EXISTS refuse'))
        const told = await run(under)
        const ids = async () => (await under.query(written)).map(({ id }) => String(id)).toSorted()
        expect(await ids()).toEqual(['good', 'other'])
        const aside = under.store.setAside()
        if (isReported) {
          if (Array.isArray(told)) expect(told).toEqual(['bad'])
          return
        }
        const isAside = [{ id: 'bad', problem: expect.stringContaining('refused') }]
        expect(aside).toMatchObject(isAside)
        // The row is rejected again after its back-off.
        vi.advanceTimersByTime(6 * MINUTE)
        await again(under)
        expect(under.store.setAside()).toMatchObject(isAside)
        expect(onSetAside.mock.calls).toEqual(
          isLogged ? [[expect.stringContaining("'bad'"), expect.objectContaining({ id: 'bad' })]] : [],
        )
      },
    )
  })
})
