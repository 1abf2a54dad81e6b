/** Declared sets: each start writes the schedules that the code declares to the database. */
/* oxlint-disable unicorn/consistent-function-scoping -- keep helpers inside their test */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  ConflictError,
  DeclarationError,
  InvalidInputError,
  Kalends,
  type KalendsOptions,
  task,
} from '../../src/index.ts'
import { collectingLogger, ended, gate, scene, signal, until } from '../kalends/scene.ts'
import { databases, eachDatabase } from '../support/databases.ts'

const cleanup = task('cleanup', { args: z.object({ days: z.number() }) })
const report = task('report')

type Open = (options?: KalendsOptions) => Promise<Kalends>

/** Imitates a deploy: starts and stops a process with this code. Returns its log. */
async function deploy(
  open: Open,
  code: (kalends: Kalends) => void,
  options: KalendsOptions = {},
): Promise<{ messages: string[]; fieldsOf: (message: string) => object | undefined }> {
  const { logger, lines, messages } = collectingLogger()
  const kalends = await open({ logger, ...options })
  kalends.handle(cleanup, () => {})
  kalends.handle(report, () => {})
  code(kalends)
  await kalends.start()
  await kalends.stop()
  return { messages: messages(), fieldsOf: (text) => lines.find(({ message }) => message === text)?.fields }
}

eachDatabase((under) => {
  it('start writes a new set to the database; the id of a schedule defaults to its task name [D1]', async () => {
    const { open } = await scene(under)
    const { messages } = await deploy(open, (kalends) => {
      kalends.declare('housekeeping', [
        { task: cleanup, timer: 'daily', args: { days: 30 } },
        { id: 'weekly-report', task: report, timer: 'weekly', enabled: false },
      ])
    })
    const web = await open()
    expect(await web.schedules.get('cleanup')).toMatchObject({
      task: 'cleanup',
      args: { days: 30 },
      declaredBy: 'housekeeping',
      enabled: true,
    })
    expect(await web.schedules.get('weekly-report')).toMatchObject({ task: 'report', enabled: false })
    expect(messages).toContain("info: Declared schedule 'cleanup' is new")
    expect(messages).toContain("info: Declared schedule 'weekly-report' is new")
  })

  it('a change in code updates the row and logs the differences; unchanged rows are not written [D1]', async () => {
    const { open } = await scene(under)
    await deploy(open, (kalends) => {
      kalends.declare('set', [
        { task: cleanup, timer: 'daily', args: { days: 30 } },
        { task: report, timer: 'weekly' },
      ])
    })
    const { messages, fieldsOf } = await deploy(open, (kalends) => {
      kalends.declare('set', [
        { task: cleanup, timer: 'hourly', args: { days: 7 } },
        { task: report, timer: 'weekly' },
      ])
    })
    const changed = "Declared schedule 'cleanup' was changed: timer, args"
    expect(messages).toContain(`info: ${changed}`)
    expect(fieldsOf(changed)).toEqual({
      set: 'set',
      scheduleId: 'cleanup',
      changes: { timer: 'hourly', args: '{"days":7}' },
      before: { timer: 'daily', args: { days: 30 } },
    })
    expect(messages).toContain('debug: 1 declared schedule is unchanged')
    expect(messages.filter((message) => message.includes("'report'"))).toEqual([])
    const web = await open()
    expect(await web.schedules.get('cleanup')).toMatchObject({ timer: 'hourly', args: { days: 7 } })
  })

  it('code overrides manual edits in every declared column except enabled', async () => {
    const { open, database } = await scene(under)
    const code = (kalends: Kalends) =>
      kalends.declare('set', [{ task: cleanup, timer: 'daily', args: { days: 30 }, priority: 2 }])
    await deploy(open, code)
    await database.query(
      `UPDATE periodic_task SET timer = 'hourly', priority = 9, catch_up = 5, args = '{"days":1}', enabled = 0`,
    )
    const { messages } = await deploy(open, code)
    expect(await (await open()).schedules.get('cleanup')).toMatchObject({
      timer: 'daily',
      priority: 2,
      catchUp: 1,
      args: { days: 30 },
      enabled: false,
    })
    expect(messages).toContain(
      "info: Declared schedule 'cleanup' was changed: catchUp, priority, timer, args",
    )
  })

  it('a schedule with an unchanged timer keeps its next run after a restart, and a due run still happens [D3, L9, L12]', async () => {
    const { open, database } = await scene(under)
    const first = await open()
    first.handle(report, () => {})
    first.declare('set', [{ task: report, timer: 'yearly' }])
    await first.start({ concurrency: 0 })
    await until(async () => ((await first.schedules.get('report'))?.nextRunAt == null ? null : true))
    await first.stop()
    // As if the slot had become due while no worker was running.
    const slot = `${new Date().getUTCFullYear()}-01-01 00:00:00.000`
    await database.query('UPDATE periodic_task SET planned_nextrun = ?, nextrun = ?', [slot, slot])
    const next = await open()
    next.handle(report, ({ slot: at }) => at)
    next.declare('set', [{ task: report, timer: 'yearly', summary: 'changed, but with the same timer' }])
    const submitted = signal(next, 'submitted', ({ runs }) => runs.length > 0)
    await next.start()
    const job = await ended(next, (await submitted).runs[0]?.jobId ?? '')
    expect(job).toMatchObject({ state: 'success', slot: new Date(`${slot.replace(' ', 'T')}Z`) })
  })

  it('rows created by users or in SQL are never changed; if one has a declared id, the conflict is reported [D2]', async () => {
    const { open, database } = await scene(under)
    const web = await open({ worker: 'web' })
    await web.schedules.create({ id: 'report', task: 'report', timer: 'monthly', args: { by: 'a user' } })
    await database.query(`INSERT INTO periodic_task (id, task, timer) VALUES ('by-sql', 'report', 'yearly')`)
    const before = await database.query('SELECT * FROM periodic_task ORDER BY id')
    const code = (kalends: Kalends) =>
      kalends.declare('set', [
        { task: report, timer: 'daily' },
        { id: 'ours', task: report, timer: 'daily' },
      ])
    const { messages } = await deploy(open, code, {})
    expect(messages).toContain(
      "error: Schedule 'report' exists outside this set and is left unchanged; choose another id for the declaration, or delete the existing schedule",
    )
    const settings = (rows: readonly Record<string, unknown>[]) =>
      rows.map(({ id, task: name, timer, args, enabled, declared_by: by, created }) => ({
        id,
        name,
        timer,
        args,
        enabled,
        by,
        created,
      }))
    const after = await database.query("SELECT * FROM periodic_task WHERE id <> 'ours' ORDER BY id")
    expect(settings(after)).toEqual(settings(before))
  })

  it('a deleted declared row is recreated at the next start, without a backlog [D6]', async () => {
    const { open, database } = await scene(under)
    const code = (kalends: Kalends) =>
      kalends.declare('set', [{ task: report, timer: 'monthly', catchUp: 100 }])
    await deploy(open, code)
    await database.query('DELETE FROM periodic_task')
    const { messages } = await deploy(open, code)
    expect(messages).toContain("info: Declared schedule 'report' is new")
    expect(await database.query('SELECT id FROM job')).toEqual([])
  })

  it('a put by a user does not remove a declared schedule from its set', async () => {
    const { open } = await scene(under)
    const code = (kalends: Kalends) => kalends.declare('set', [{ task: report, timer: 'daily' }])
    await deploy(open, code)
    const web = await open({ worker: 'web' })
    await web.schedules.put('report', { task: report, timer: 'hourly' })
    expect(await web.schedules.get('report')).toMatchObject({ timer: 'hourly', declaredBy: 'set' })
    await deploy(open, code)
    expect(await web.schedules.get('report')).toMatchObject({ timer: 'daily', declaredBy: 'set' })
  })

  it('one error lists all problems of all sets; nothing is written, and no worker is registered [D7]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(cleanup, () => {})
    kalends.handle(report, () => {})
    kalends.declare('one', [
      { id: 'good', task: report, timer: 'daily' },
      { id: 'bad-timer', task: report, timer: 'dayly', priority: 0.5 },
      { id: 'bad-zone', task: report, timer: 'daily Europe/Atlantis' },
      { id: 'twice', task: report, timer: 'daily' },
      { id: 'twice', task: report, timer: 'daily' },
      { id: 'i'.repeat(255), task: report, timer: 'daily' },
      { id: 'unhandled', task: task('nobody-runs-this'), timer: 'daily' },
    ])
    kalends.declare('two', [
      { id: 'good', task: report, timer: 'daily' },
      { id: 'bad-args', task: cleanup, timer: 'daily', args: { days: Number.NaN } },
    ])
    const error: unknown = await kalends.start().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DeclarationError)
    if (!(error instanceof DeclarationError)) return
    expect(error.code).toBe('KALENDS_INVALID_DECLARATION')
    const where = (set: string, id: string) => `set '${set}', schedule '${id}': `
    expect(error.problems).toEqual([
      expect.stringMatching(/^set 'one', schedule 'bad-timer': .*dayly/),
      expect.stringContaining(`${where('one', 'bad-timer')}priority: `),
      expect.stringMatching(/^set 'one', schedule 'bad-zone': .*Europe\/Atlantis/),
      `${where('one', 'twice')}the id is declared twice; give one of the schedules another id`,
      expect.stringContaining(`${where('one', 'i'.repeat(255))}id: must be a name of 1 to 254 characters`),
      `${where('one', 'unhandled')}no handler for the task 'nobody-runs-this'; call kalends.handle(…) before start`,
      `${where('two', 'good')}the id is also declared in the set 'one'`,
      expect.stringContaining(`${where('two', 'bad-args')}args.days: JSON turns NaN into null`),
    ])
    for (const problem of error.problems) expect(error.message).toContain(problem)
    expect(await database.query('SELECT id FROM periodic_task')).toEqual([])
    expect(await database.query('SELECT id FROM worker')).toEqual([])
    expect(kalends.health()).toMatchObject({ worker: null, loops: [] })
  })

  it('a worker that runs no jobs can declare schedules without handlers', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.declare('set', [{ task: report, timer: 'daily' }])
    await kalends.start({ concurrency: 0 })
    expect(await kalends.schedules.get('report')).toMatchObject({ declaredBy: 'set' })
  })

  it('each schedule is created once, even if many workers start at the same time with the same set', async () => {
    const { open, database } = await scene(under)
    const workers = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const kalends = await open({ worker: `w${index}` })
        kalends.handle(report, () => {})
        kalends.declare(
          'set',
          Array.from({ length: 20 }, (__, number) => ({ id: `s${number}`, task: report, timer: 'daily' })),
        )
        return kalends
      }),
    )
    await Promise.all(workers.map((kalends) => kalends.start()))
    expect(await database.query('SELECT COUNT(*) AS n FROM periodic_task')).toEqual([{ n: 20 }])
    expect(await database.query('SELECT COUNT(*) AS n FROM worker')).toEqual([{ n: 4 }])
  })

  it('a restart does not affect marks or running jobs of another worker [L12]', async () => {
    const { open } = await scene(under)
    const release = gate()
    const code = (kalends: Kalends, handler: () => unknown) => {
      kalends.handle(report, handler)
      kalends.declare('set', [{ task: report, timer: 'yearly' }])
    }
    const one = await open({ worker: 'one' })
    code(one, () => release.promise)
    await one.start()
    const started = signal(one, 'started')
    const id = await one.schedules.runNow('report')
    await started
    const other = await open({ worker: 'other' })
    code(other, () => 'not mine')
    await other.start()
    await other.stop()
    expect(await one.jobs.get(id)).toMatchObject({ state: 'running', attempt: 1 })
    release.open()
    expect(await ended(one, id)).toMatchObject({ state: 'success', worker: expect.stringMatching(/^one\//) })
  })
})

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('before start', () => {
  it('a second handler for a task is rejected', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    kalends.handle(report, () => {})
    expect(() => kalends.handle(report, () => {})).toThrow(InvalidInputError)
  })

  it('a second declaration of a set, and a set without a name, are rejected', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    kalends.declare('set', [])
    expect(() => kalends.declare('set', [])).toThrow("declare: the set 'set' is already declared")
    expect(() => kalends.declare(' ', [])).toThrow(InvalidInputError)
  })

  it('`handle` and `declare` are rejected after `start`, and after `stop`', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    await kalends.start()
    expect(() => kalends.handle(report, () => {})).toThrow(ConflictError)
    expect(() => kalends.declare('set', [])).toThrow(
      'declare was called too late: this Kalends instance was already started',
    )
    await expect(kalends.start()).rejects.toThrow(ConflictError)
    await kalends.stop()
    expect(() => kalends.handle(report, () => {})).toThrow('this Kalends instance was already stopped')
  })

  it('a rejected start can be repeated once the problem is fixed', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    kalends.declare('set', [{ task: report, timer: 'daily' }])
    await expect(kalends.start()).rejects.toThrow(DeclarationError)
    kalends.handle(report, () => {})
    await kalends.start()
    expect(await kalends.schedules.get('report')).not.toBeNull()
  })
})
