/** Two users and their reminders over HTTP, with a worker and a web process that runs no jobs. */
import { expect, onTestFinished, test } from 'vitest'
import { type Program, start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

interface Answer {
  readonly status: number
  readonly location: string | null
  readonly body: Record<string, unknown>
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>

interface Web {
  readonly server: Program
  readonly as: (user: string | null) => Call
}

async function web({ url }: TestDatabase): Promise<Web> {
  const server = start('examples/dist/express-reminders/server.js', [url, '--port', '0'], {
    cwd: await temporaryFolder(),
  })
  const printed = await server.until(/listening on (\S+)\n/)
  const base = /listening on (\S+)/.exec(printed)?.[1] ?? ''
  return {
    server,
    as: (user) => async (method, path, body) => {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: {
          ...(user !== null && { authorization: `Bearer ${user}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        location: response.headers.get('location'),
        // All routes respond with JSON.
        body: text === '' ? {} : JSON.parse(text),
      }
    },
  }
}

eachDatabase(({ fresh }) => {
  test('a user creates, changes, pauses and deletes a reminder, which a worker delivers', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const { server, as } = await web(database)
    const anna = as('anna')
    const made = await anna('POST', '/reminders', {
      text: 'Stand up',
      timer: 'mon..fri 10:00',
      zone: 'Europe/Berlin',
    })
    expect(made).toMatchObject({
      status: 201,
      location: `/reminders/${String(made.body['id'])}`,
      body: {
        text: 'Stand up',
        timer: 'Mon..Fri *-*-* 10:00:00 Europe/Berlin',
        description: expect.stringMatching(/10:00.*Monday.*Berlin/),
        status: 'active',
      },
    })
    const path = String(made.location)
    // The write itself plans the next run, before any worker runs.
    expect(made.body['next']).toMatchObject({ local: expect.stringMatching(/ 10:00:00 /) })
    const worker = start('examples/dist/express-reminders/worker.js', [database.url], {
      cwd: await temporaryFolder(),
    })
    await worker.until(/ready/)

    expect(await anna('PATCH', path, { text: 'Sit down', timer: 'every 1min' })).toMatchObject({
      status: 200,
      body: { text: 'Sit down', timer: 'every 1min' },
    })
    await database.query("UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00'")
    await worker.until(/^to anna: Sit down \(2\d{3}-.*Z\)$/m)

    expect(await anna('POST', `${path}/pause`)).toMatchObject({ status: 200, body: { status: 'paused' } })
    expect(await anna('POST', `${path}/pause`)).toMatchObject({ status: 409 })
    expect(await anna('POST', `${path}/resume`)).toMatchObject({ status: 200, body: { status: 'active' } })
    expect(await anna('GET', '/reminders')).toMatchObject({
      body: { total: 1, items: [{ text: 'Sit down' }] },
    })
    expect(await anna('GET', path)).toMatchObject({
      status: 200,
      body: { history: [{ slot: expect.any(String) }] },
    })
    expect(await anna('DELETE', path)).toMatchObject({ status: 204 })
    expect(await anna('GET', path)).toMatchObject({ status: 404 })
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: null, stderr: '' })
    expect(worker.child.signalCode).toBe('SIGTERM')
    server.child.kill('SIGTERM')
    // The first reminder was created before the worker started.
    const stderr = expect.stringMatching(/^kalends: No known worker handles the task 'remind'[^\n]*\n$/)
    expect(await server.ended).toMatchObject({ code: 0, stderr })
  })

  test("no route reaches another user's reminder, or a schedule that is not a reminder [U1]", async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const { as } = await web(database)
    const [anna, ben, nobody] = [as('anna'), as('ben'), as(null)]
    const { body, location } = await anna('POST', '/reminders', { text: 'Secret', timer: 'daily' })
    await database.query(
      "INSERT INTO periodic_task (id, task, timer, submitter) VALUES ('nightly', 'cleanup', 'daily', 'anna')",
    )
    const path = String(location)
    const before = await database.query('SELECT * FROM periodic_task ORDER BY id')
    const routes: [string, string, unknown?][] = [
      ['GET', path],
      ['PATCH', path, { text: 'Mine' }],
      ['PATCH', path, { timer: 'hourly' }],
      ['POST', `${path}/pause`],
      ['POST', `${path}/resume`],
      ['DELETE', path],
    ]
    for (const [method, route, sent] of routes) {
      expect(await ben(method, route, sent), `${method} ${route}`).toEqual({
        status: 404,
        location: null,
        body: { message: 'Reminder not found' },
      })
      expect((await nobody(method, route, sent)).status).toBe(401)
      expect((await anna(method, route.replace(String(body['id']), 'nightly'), sent)).status).toBe(404)
    }
    expect((await ben('GET', '/reminders')).body).toEqual({ items: [], total: 0 })
    expect((await nobody('POST', '/reminders', { text: 'x', timer: 'daily' })).status).toBe(401)
    // A submitter, an id or a task in the request has no effect.
    const sly = { text: 'x', timer: 'daily', submitter: 'anna', task: 'cleanup', id: body['id'] }
    expect((await ben('POST', '/reminders', sly)).status).toBe(201)
    expect(await database.query("SELECT * FROM periodic_task WHERE submitter = 'anna' ORDER BY id")).toEqual(
      before,
    )
    expect(
      await database.query(
        "SELECT task, COUNT(*) AS n FROM periodic_task WHERE submitter = 'ben' GROUP BY task",
      ),
    ).toEqual([{ task: 'remind', n: 1 }])
  })

  test('an invalid timer is reported with the column and a hint; a valid one is described with its next run times', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const anna = (await web(database)).as('anna')
    const refused = {
      status: 422,
      body: { field: 'timer', column: 10, message: expect.stringContaining("'L'"), hint: 'write *-*~1 0:00' },
    }
    const timer = 'cron 0 0 L * *'
    expect(await anna('POST', '/timers/preview', { timer })).toMatchObject(refused)
    expect(await anna('POST', '/reminders', { text: 'x', timer })).toMatchObject(refused)
    for (const [wrong, message] of [
      ['2020-01-01', 'never elapses again'],
      ['every day', "'day'"],
      ['tomorrow', 'tomorrow'],
    ] as const) {
      expect(await anna('POST', '/reminders', { text: 'x', timer: wrong }), wrong).toMatchObject({
        status: 422,
        body: { field: 'timer', message: expect.stringContaining(message) },
      })
    }
    expect(await anna('POST', '/reminders', { text: 'x', timer: '*:*:0/10' })).toMatchObject({
      status: 400,
      body: { field: 'timer', message: expect.stringContaining('limits.shortestPeriod') },
    })
    const wrongZone = { text: 'x', timer: 'daily', zone: 'Mars/Olympus' }
    expect(await anna('POST', '/reminders', wrongZone)).toMatchObject({
      status: 400,
      body: { field: 'zone' },
    })
    expect(await anna('POST', '/reminders', { text: '', timer: 'daily' })).toMatchObject({
      status: 400,
      body: { field: 'text' },
    })
    expect(await database.query('SELECT id FROM periodic_task')).toEqual([])

    expect(
      await anna('POST', '/timers/preview', { timer: '*-*-* 02:30', zone: 'Europe/Berlin', limit: 2 }),
    ).toMatchObject({
      status: 200,
      body: {
        timer: '*-*-* 02:30:00 Europe/Berlin',
        description: expect.stringContaining('02:30'),
        next: [
          { at: expect.any(String), local: expect.stringMatching(/02:30:00 \+0[12]:00/) },
          expect.anything(),
        ],
        // Whenever this test runs, the clocks go forward within the following year.
        warnings: expect.arrayContaining([expect.stringContaining('02:30')]),
      },
    })
  })
})
