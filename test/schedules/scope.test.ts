/** The schedules and jobs of one owner. */
import { expect, it } from 'vitest'
import {
  ConflictError,
  ForbiddenError,
  KalendsError,
  LimitError,
  NotFoundError,
  OverloadedError,
  task,
  VersionError,
} from '../../src/index.ts'
import { gate, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work')
const tasks = ['work']

eachDatabase((under) => {
  it('a pause in a scope does not cancel queued jobs of a previous owner; a pause without a scope does', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(work, () => {})
    const [anna, ben] = [
      kalends.scope({ submitter: 'anna', tasks }),
      kalends.scope({ submitter: 'ben', tasks }),
    ]
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', submitter: 'anna' })
    const id = await kalends.schedules.runNow('s')
    await kalends.schedules.update('s', { submitter: 'ben' })
    await ben.schedules.pause('s', { jobs: 'cancel' })
    expect(await anna.jobs.get(id)).toMatchObject({ state: 'waiting' })
    await kalends.schedules.resume('s')
    await kalends.schedules.pause('s', { jobs: 'cancel' })
    expect(await anna.jobs.get(id)).toMatchObject({ state: 'cancelled' })
  })

  it('the scope sets group and submitter, regardless of the input [U1]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules, jobs } = kalends.scope({ group: 'shop', submitter: 'anna', tasks })
    const theirs = { group: 'bank', submitter: 'ben' }
    const mine = { group: 'shop', submitter: 'anna' }
    expect(await schedules.create({ id: 's', task: work, timer: 'yearly', ...theirs })).toMatchObject(mine)
    expect(await schedules.update('s', { ...theirs, summary: 'mine' })).toMatchObject({
      ...mine,
      summary: 'mine',
    })
    expect((await schedules.put('s', { task: work, timer: 'monthly', ...theirs })).schedule).toMatchObject(
      mine,
    )
    expect(await jobs.get(await jobs.submit(work, {}, theirs))).toMatchObject(mine)
    const [many = ''] = await jobs.submitMany([{ task: work, ...theirs }])
    expect(await jobs.get(many)).toMatchObject(mine)
    const run = await schedules.runNow('s')
    expect(await jobs.get(run)).toMatchObject({ ...mine, scheduleId: 's' })
    expect(await jobs.wait(run, { timeout: 0 }).catch((error: unknown) => error)).toMatchObject({
      code: 'KALENDS_WAIT_TIMEOUT',
    })
  })

  it('a scope accepts tasks or their names', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    for (const granted of [work, work.name])
      await kalends.scope({ submitter: 'anna', tasks: [granted] }).jobs.submit(work)
    for (const tasks of JSON.parse('[[null], [5], [{}], [{"name": 5}], [""], "work", {}]'))
      expect(() => kalends.scope({ submitter: 'anna', tasks })).toThrow(
        /^tasks: must be a (list of tasks|name of 1 to 254)/,
      )
  })

  it('a scope cannot write a field that it leaves open, because the row would then also belong to another owner', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const shop = kalends.scope({ group: 'shop', tasks })
    const submitter = { submitter: 'ben' }
    for (const call of [
      () => shop.schedules.create({ id: 'a', task: work, timer: 'yearly', ...submitter }),
      () => shop.schedules.put('a', { task: work, timer: 'yearly', ...submitter }),
      () => shop.jobs.submit(work, {}, submitter),
      () => kalends.scope({ submitter: 'ben', tasks }).jobs.submit(work, {}, { group: 'shop' }),
    ])
      await expect(call()).rejects.toThrow(ForbiddenError)
    await shop.schedules.create({ id: 'a', task: work, timer: 'yearly' })
    await expect(shop.schedules.update('a', submitter)).rejects.toThrow(ForbiddenError)
    // A change in SQL moves the row to another owner.
    await database.query("UPDATE periodic_task SET submitter = 'ben'")
    const ben = kalends.scope({ submitter: 'ben' })
    // The id stays in the namespace of the group.
    expect(await ben.schedules.get('a')).toBeNull()
    expect(await ben.schedules.get('shop:/a')).toMatchObject({ id: 'shop:/a', group: 'shop' })
    expect(await kalends.scope({ submitter: 'anna' }).schedules.get('a')).toBeNull()
    expect(await kalends.scope({ group: 'Shop' }).schedules.get('a')).toBeNull()
  })

  it('owners choose ids independently: each has its own namespace [V3, L65]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const [anna, ben] = ['anna', 'ben'].map((submitter) => kalends.scope({ submitter, tasks }))
    if (anna === undefined || ben === undefined) throw new Error('two are needed')
    for (const [scope, timer] of [
      [anna, 'yearly'],
      [ben, 'daily'],
      [kalends, 'monthly'],
    ] as const) {
      expect(await scope.schedules.create({ id: 's', task: work, timer })).toMatchObject({ id: 's', timer })
      await expect(scope.schedules.create({ id: 's', task: work, timer })).rejects.toThrow(ConflictError)
      expect((await scope.schedules.put('s', { task: work, timer })).result).toBe('unchanged')
      expect(await scope.jobs.submit(work, { timer }, { id: 'j' })).toBe('j')
      await expect(scope.jobs.submit(work, {}, { id: 'j' })).rejects.toThrow(
        "A job with the id 'j' already exists",
      )
      expect(await scope.schedules.get('s')).toMatchObject({ id: 's', timer })
      expect(await scope.jobs.get('j')).toMatchObject({ id: 'j', args: { timer } })
    }
    for (const table of ['periodic_task', 'job'])
      expect((await database.query(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id)).toEqual(
        ['anna/', 'ben/', ''].map((prefix) => `${prefix}${table === 'job' ? 'j' : 's'}`),
      )
    expect((await ben.schedules.list()).items.map(({ id }) => id)).toEqual(['s'])
    expect((await ben.jobs.list({ id: 'j' })).items.map(({ id }) => id)).toEqual(['j'])
    expect((await ben.schedules.list({ text: 'ben/' })).items).toEqual([])
    await ben.schedules.delete('s')
    expect((await kalends.schedules.list()).items.map(({ id }) => id)).toEqual(['anna/s', 's'])
    // Chosen ids cannot contain a slash, so they never match the ids of another owner.
    for (const scope of [ben, kalends]) {
      await expect(scope.schedules.put('anna/t', { task: work, timer: 'daily' })).rejects.toThrow("'/'")
      await expect(scope.jobs.submit(work, {}, { id: 'anna/k' })).rejects.toThrow("'/'")
    }
  })

  it('a row that code creates for an owner keeps its id, and the owner cannot create another row with that id', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', submitter: 'anna' })
    const anna = kalends.scope({ submitter: 'anna', tasks })
    expect(await anna.schedules.get('s')).toMatchObject({ id: 's', timer: 'yearly' })
    await expect(anna.schedules.create({ id: 's', task: work, timer: 'daily' })).rejects.toThrow(
      ConflictError,
    )
    expect((await anna.schedules.put('s', { task: work, timer: 'daily' })).result).toBe('changed')
    expect((await kalends.schedules.list()).items.map(({ id }) => id)).toEqual(['s'])
    const run = await anna.schedules.runNow('s')
    expect(await anna.schedules.history('s')).toMatchObject([{ id: run, scheduleId: 's' }])
  })

  it('an owner cannot submit a job with the id of a job that code has created for this owner', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.jobs.submit(work, { by: 'code' }, { id: 'j', submitter: 'anna' })
    await kalends.jobs.submit(work, { by: 'code' }, { id: 'k', submitter: 'ben' })
    const { jobs } = kalends.scope({ submitter: 'anna', tasks })
    const submissions = [
      () => jobs.submit(work, {}, { id: 'j' }),
      () => jobs.submitMany([{ task: work }, { task: work, id: 'new' }, { task: work, id: 'j' }]),
    ]
    for (const submit of submissions) {
      const error = await submit().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ConflictError)
      expect(error).toMatchObject({ message: "A job with the id 'j' already exists" })
    }
    expect(await jobs.get('j')).toMatchObject({ args: { by: 'code' } })
    // Jobs of other owners do not conflict.
    expect(await jobs.submit(work, {}, { id: 'k' })).toBe('k')
    expect((await jobs.list()).total).toBe(2)
  })

  it('pages continue after the last id that the owner sees, whether the owner or code created the rows', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const anna = kalends.scope({ submitter: 'anna', tasks })
    for (const id of ['b', 'd']) {
      await anna.schedules.create({ id, task: work, timer: 'yearly' })
      await kalends.schedules.create({ id: `z-${id}`, task: work, timer: 'yearly', submitter: 'anna' })
      await kalends.schedules.create({ id: `c-${id}`, task: work, timer: 'yearly', submitter: 'ben' })
      await anna.jobs.submit(work, {}, { id })
    }
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const { items, next } = await anna.schedules.list({ limit: 1, after })
      seen.push(...items.map(({ id }) => id))
      if (next === null) break
      after = next
    }
    expect(seen).toEqual(['b', 'd', 'z-b', 'z-d'])
    expect((await anna.jobs.list({ limit: 1, after: 'd' })).items).toMatchObject([{ id: 'b' }])
    expect([...(await anna.views.recentRuns(seen, 3)).keys()]).toEqual(seen)
    await anna.schedules.runNow('b')
    expect((await anna.views.recentRuns(['b'], 3)).get('b')).toHaveLength(1)
    expect((await anna.jobs.list({ scheduleId: 'b' })).items).toMatchObject([{ scheduleId: 'b' }])
    expect((await anna.jobs.list({ scheduleId: 'b' })).total).toBe(1)
    const { items } = await anna.views.upcoming({
      from: new Date(),
      to: new Date(Date.now() + 400 * 86_400_000),
    })
    // Late in the year, the window contains two runs of each schedule.
    const upcoming = new Set(items.map(({ scheduleId }) => scheduleId))
    expect([...upcoming].toSorted()).toEqual(['b', 'd', 'z-b', 'z-d'])
  })

  it('wait finds a job by the id that its owner has chosen', async () => {
    const { open } = await scene(under)
    const kalends = await open({ pollInterval: '60s' })
    kalends.handle(work, () => 'done')
    await kalends.start()
    const { jobs } = kalends.scope({ submitter: 'anna', tasks })
    const id = await jobs.submit(work, {}, { id: 'mine' })
    // Without the signal that the job has ended, wait would poll again only after a minute.
    expect(await jobs.wait(id, { timeout: '50s' })).toMatchObject({ id: 'mine', state: 'success' })
  })

  it('a declared schedule is created even if an owner uses the same id [V3]', async () => {
    const { open } = await scene(under)
    const tenant = await open()
    await tenant.scope({ submitter: 'mallory', tasks }).schedules.create({
      id: 'nightly-billing',
      task: work,
      timer: 'yearly',
    })
    const kalends = await open()
    kalends.handle(work, () => undefined)
    kalends.declare('billing', [{ id: 'nightly-billing', task: work, timer: 'monthly' }])
    await kalends.start()
    expect(await kalends.schedules.get('nightly-billing')).toMatchObject({
      timer: 'monthly',
      declaredBy: 'billing',
      submitter: null,
    })
  })

  it('a scope writes only rows of its tasks, regardless of who created them [V1, L46]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const mine = { submitter: 'anna', timer: 'yearly' } as const
    await kalends.schedules.create({ id: 'bill', task: 'billing', ...mine })
    const job = await kalends.jobs.submit('billing', {}, { submitter: 'anna' })
    const { schedules, jobs } = kalends.scope({ submitter: 'anna', tasks })
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    for (const task of ['billing', 'command', 'kalends.prune', 'work ', 'Work', '']) {
      const calls: readonly (() => Promise<unknown>)[] = [
        () => schedules.create({ task, timer: 'yearly' }),
        () => schedules.create({ id: 'x', task, timer: 'yearly', ifExists: 'same' }),
        () => schedules.put('x', { task, timer: 'yearly' }),
        () => schedules.put('s', { task, timer: 'yearly' }),
        () => jobs.submit(task),
        () => jobs.submitMany([{ task: { ...work, name: task } }]),
      ]
      // Names such as 'work ' are invalid anyway.
      const error = ['work ', ''].includes(task) ? KalendsError : ForbiddenError
      for (const call of calls) await expect(call(), task).rejects.toThrow(error)
    }
    const calls: readonly (() => Promise<unknown>)[] = [
      () => schedules.put('bill', { task: work, timer: 'yearly' }),
      () => schedules.update('bill', { summary: 'x' }),
      () => schedules.pause('bill'),
      () => schedules.runNow('bill'),
      () => schedules.delete('bill'),
      () => jobs.cancel(job),
      () => jobs.retry(job),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(ForbiddenError)
    expect(await schedules.get('bill')).toMatchObject({ task: 'billing', status: 'active', summary: null })
    expect((await kalends.jobs.list()).total).toBe(1)
    expect(await kalends.jobs.get(job)).toMatchObject({ state: 'waiting' })
  })

  it('a scope without tasks can only read', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends
      .scope({ submitter: 'anna', tasks })
      .schedules.create({ id: 's', task: work, timer: 'yearly' })
    const { schedules, jobs } = kalends.scope({ submitter: 'anna' })
    expect(await schedules.get('s')).toMatchObject({ id: 's' })
    await expect(schedules.pause('s')).rejects.toThrow('This scope is read-only')
    await expect(jobs.submit(work)).rejects.toThrow(ForbiddenError)
  })

  it('an owner never exceeds its limits for schedules and open jobs, even with concurrent calls [V2]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const limits = { schedules: 2, openJobs: 3 }
    const anna = () => kalends.scope({ submitter: 'anna', tasks, limits })
    const outcomes = async (count: number, call: (index: number) => Promise<unknown>) => {
      const settled = await Promise.allSettled(Array.from({ length: count }, (_, index) => call(index)))
      for (const one of settled) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(LimitError)
      return settled.filter(({ status }) => status === 'fulfilled').length
    }
    const input = { task: work, timer: 'yearly' }
    expect(await outcomes(5, () => anna().schedules.create(input))).toBe(2)
    expect(await outcomes(2, (index) => anna().schedules.put(`p${index}`, input))).toBe(0)
    const [first] = (await anna().schedules.list()).items
    expect((await anna().schedules.put(first?.id ?? '', { ...input, summary: 'x' })).result).toBe('changed')
    expect(await outcomes(5, () => anna().jobs.submit(work))).toBe(3)
    expect(await outcomes(1, () => anna().jobs.submitMany([{ task: work }]))).toBe(0)
    expect(await outcomes(1, () => anna().schedules.runNow(first?.id ?? ''))).toBe(0)
    await expect(anna().schedules.create(input)).rejects.toMatchObject({
      limit: 'schedules',
      code: 'KALENDS_LIMIT',
    })
    await anna().schedules.delete(first?.id ?? '')
    await anna().schedules.create(input)
    // Anna's limits do not affect other owners, or code without a scope.
    await kalends.scope({ submitter: 'ben', tasks, limits }).schedules.create(input)
    expect(await outcomes(5, () => kalends.jobs.submit(work))).toBe(5)
  })

  it('if a schedule is deleted during a put, the put does not recreate it beyond the limit', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules } = kalends.scope({ submitter: 'anna', tasks, limits: { schedules: 2 } })
    const input = { task: work, timer: 'yearly' }
    for (const id of ['a', 'b']) await schedules.put(id, input)
    // Each put finds 'a', which is then deleted and replaced by another schedule.
    const outcomes = await Promise.allSettled([
      schedules.put('a', { ...input, summary: 'x' }),
      schedules.delete('a'),
      schedules.create({ id: 'c', ...input }),
      schedules.put('a', { ...input, summary: 'y' }),
    ])
    for (const one of outcomes)
      if (one.status === 'rejected')
        expect(one.reason).toSatisfy(
          (error) =>
            error instanceof LimitError ||
            error instanceof VersionError ||
            // The schedule was deleted between the put and the read.
            error instanceof NotFoundError,
        )
    expect((await schedules.list()).total).toBeLessThanOrEqual(2)
  })

  it('only a limited number of writes by one owner can queue; further writes are rejected', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const submits = Array.from({ length: 100 }, () =>
      kalends.scope({ submitter: 'anna', tasks }).jobs.submit(work),
    )
    const settled = await Promise.allSettled(submits)
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused.length).toBe(67)
    for (const error of refused) expect(error).toBeInstanceOf(OverloadedError)
    expect((await kalends.jobs.list()).total).toBe(33)
    await kalends.scope({ submitter: 'anna', tasks }).jobs.submit(work)
  })

  it("a submission in the application's transaction does not wait for other submissions", async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const { jobs } = kalends.scope({ submitter: 'anna', tasks, limits: { openJobs: 1 } })
    const statements: string[] = []
    const turn = gate()
    const held = jobs.submit(
      work,
      {},
      {
        tx: async () => {
          await turn.promise
          return []
        },
      },
    )
    const tx = async (sql: string) => {
      statements.push(sql)
      return []
    }
    await jobs.submit(work, {}, { tx })
    await jobs.submit(work, {}, { tx })
    expect(statements.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(2)
    turn.open()
    await held
    expect(await database.query('SELECT id FROM job')).toEqual([])
  })

  it.each<[string, string, object]>([
    ['timer', 'shortestPeriod', { timer: '*:*:*' }],
    ['priority', 'priority', { priority: 1 }],
    ['timeout', 'timeout', { timeout: '61min' }],
    ['retries', 'retries', { retries: 11 }],
    ['args', 'argsBytes', { args: { text: 'ä'.repeat(33_000) } }],
    ['overlap', 'an owner with limits', { overlap: 'allow' }],
    ['catchUp', 'an owner with limits', { catchUp: 11 }],
  ])('options beyond the limits of an owner are rejected: %s, %s, %j [V2]', async (field, limit, options) => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules, jobs } = kalends.scope({ submitter: 'anna', tasks })
    const input = { task: 'work', timer: 'yearly', ...options }
    const refused = { field, message: expect.stringContaining(limit) }
    await expect(schedules.create(input)).rejects.toMatchObject(refused)
    await expect(schedules.put('s', input)).rejects.toMatchObject(refused)
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    await expect(schedules.update('s', options)).rejects.toMatchObject(refused)
    if (!['timer', 'overlap', 'catchUp'].includes(field)) {
      const { args, ...rest } = { args: {}, ...options }
      await expect(jobs.submit('work', args, rest)).rejects.toMatchObject(refused)
    }
    if (field === 'args') await expect(schedules.runNow('s', options)).rejects.toMatchObject(refused)
    // Code has no limits.
    expect(await kalends.schedules.create({ id: 'free', ...input })).toMatchObject({ id: 'free' })
  })

  it('a row whose owner is changed in SQL belongs to the new owner at once', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const [anna, ben] = ['anna', 'ben'].map((submitter) => kalends.scope({ submitter, tasks }))
    if (anna === undefined || ben === undefined) throw new Error('two are needed')
    await anna.schedules.create({ id: 's', task: work, timer: 'yearly' })
    await database.query(`UPDATE periodic_task SET submitter = 'ben'`)
    expect(await anna.schedules.get('s')).toBeNull()
    await expect(anna.schedules.delete('s')).rejects.toThrow(NotFoundError)
    // The columns of a row define its owner; its id does not change.
    expect((await ben.schedules.list()).items).toMatchObject([{ id: 'anna/s' }])
    await ben.schedules.delete('anna/s')
  })

  it('a schedule with a new owner does not reveal the open job of its previous owner', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const anna = kalends.scope({ submitter: 'anna', tasks })
    const ben = kalends.scope({ submitter: 'ben', tasks })
    await anna.schedules.create({ id: 's', task: work, timer: 'yearly' })
    const first = await anna.schedules.runNow('s')
    const own = await anna.schedules.runNow('s').catch((error: unknown) => error)
    expect(own).toMatchObject({ jobId: first, message: expect.stringContaining(first) })
    // The schedule and its cancelled run now belong to Ben; the open run still belongs to Anna.
    await anna.jobs.cancel(first)
    await database.query(`UPDATE periodic_task SET submitter = 'ben'`)
    await database.query(`UPDATE job SET submitter = 'ben'`)
    const second = await kalends.schedules.runNow('anna/s')
    await database.query(`UPDATE job SET submitter = 'anna' WHERE id = '${second}'`)
    for (const call of [() => ben.schedules.runNow('anna/s'), () => ben.jobs.retry(first)]) {
      const error = await call().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ConflictError)
      expect(error).toMatchObject({ jobId: null, message: expect.not.stringContaining(second) })
    }
  })

  it.each([
    [{}, 'scope'],
    [{ group: '' }, 'group'],
    [{ submitter: '' }, 'submitter'],
    [{ group: 'shop', submitter: '' }, 'submitter'],
    // MySQL may ignore trailing spaces when it compares strings.
    [{ submitter: 'anna ' }, 'submitter'],
    [{ submitter: 7 }, 'submitter'],
    [{ group: 'g'.repeat(255) }, 'group'],
    [{ group: 'shop', tasks: ['work', 'kalends.prune'] }, 'tasks'],
    [{ group: 'shop', limits: { timeout: 'soon' } }, 'limits.timeout'],
  ])('a scope that would match or permit too much is rejected: %j', async (options, field) => {
    const { open } = await scene(under)
    const kalends = await open()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
    expect(() => kalends.scope(options as never)).toThrow(expect.objectContaining({ field }))
  })
})
