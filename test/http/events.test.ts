import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { onTestFinished, expect, it, vi } from 'vitest'
import { EventStream } from '../../src/http/changes.ts'
import { databases, eachDatabase } from '../support/databases.ts'
import { apiScene, type ApiScene, type CallOptions } from './scene.ts'

interface Message {
  readonly id: string
  readonly event: string
  readonly topics: string[]
}

interface Stream {
  readonly messages: Message[]
  readonly response: Response
  /** The first matching message, including those already received. */
  readonly until: (matches: (message: Message) => boolean) => Promise<Message>
  readonly ended: Promise<void>
  readonly leave: () => Promise<void>
}

/**
 * After this call, the time for the events advances only when a test advances it. Earlier timers, such as those of
 * connections, are real.
 */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Advances the time, and lets pending work take its next step. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await turn()
}

async function follow({ send }: ApiScene, options: CallOptions = {}): Promise<Stream> {
  const response = await send('GET /api/v1/events', options)
  expect(response.status).toBe(200)
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  const messages: Message[] = []
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value)).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
        if (field('event') === '') continue
        const data: { topics?: string[] } = JSON.parse(field('data'))
        messages.push({ id: field('id'), event: field('event'), topics: data.topics ?? [] })
      }
    }
  }
  const ended = read()
  const leave = () => reader.cancel()
  onTestFinished(leave)
  return {
    messages,
    response,
    ended,
    leave,
    until: async (matches) => {
      for (;;) {
        const found = messages.find(matches)
        if (found !== undefined) return found
        await pass(20)
      }
    },
  }
}

/** The results of all polls after this call. */
function looksOf({ kalends }: ApiScene): unknown[] {
  const found: unknown[] = []
  const { views } = kalends.api
  const changeTokens = views.changeTokens.bind(views)
  views.changeTokens = async () => {
    const now = await changeTokens()
    found.push(now)
    return now
  }
  return found
}

const about = (topic: string) => (message: Message) =>
  message.event === 'change' && message.topics.includes(topic)

eachDatabase((under) => {
  it('changes from every source are reported within two polls: the API, code, another process, SQL', async () => {
    const api = await apiScene(under)
    stopTime()
    const looks = looksOf(api)
    const stream = await follow(api)
    const look = async () => {
      const before = looks.length
      vi.advanceTimersByTime(1000)
      while (looks.length === before) await turn()
      await turn()
    }
    while (looks.length === 0) await turn()
    // Database servers record the time of the last change to the second, and report it with a short delay.
    const nextSecond = async () => {
      if (under.kind === 'sqlite') return
      const second = async () =>
        (await api.database.query('SELECT CAST(NOW() AS CHAR) AS now, SLEEP(0.02)'))[0]?.['now']
      const before = await second()
      while ((await second()) === before) await turn()
    }
    const told = async (topic: string, change: () => Promise<unknown>) => {
      // Wait until the results are stable: a change is reported after the poll that finds it, and again after the next
      // poll.
      do await look()
      while (!isDeepStrictEqual(looks.at(-1), looks.at(-2)))
      await look()
      await nextSecond()
      stream.messages.length = 0
      await change()
      for (let polls = 0; polls < 2 && !stream.messages.some(about(topic)); polls += 1) {
        await nextSecond()
        await look()
      }
      expect([topic, stream.messages.some(about(topic))]).toEqual([topic, true])
    }
    await told('schedules', () =>
      api.call('PUT /api/v1/schedules/s', { body: { task: 't', timer: 'daily' } }),
    )
    await told('schedules', () => api.database.query("UPDATE periodic_task SET summary = 'by hand'"))
    await told('jobs', () => api.database.query("INSERT INTO job (task) VALUES ('by hand')"))
    await told('jobs', () => api.kalends.jobs.submit('mail'))
    await told('workers', () =>
      api.database.query("INSERT INTO worker (id, name, host, pid, tasks) VALUES ('x/1', 'x', 'h', 1, '[]')"),
    )
    await told('schedules', () => api.database.query('DELETE FROM periodic_task'))
    await told('schedules', () =>
      api.call('POST /api/v1/freezes', { body: { task: 'mail', until: '2999-01-01T00:00:00Z' } }),
    )
  })
})

const sqlite = databases.find(({ kind }) => kind === 'sqlite')
const scene = async (events = {}) => {
  if (sqlite === undefined) throw new Error('skipped')
  const api = await apiScene(sqlite, { events })
  stopTime()
  return api
}

it.skipIf(sqlite === undefined)('middleware must not compress the stream', async () => {
  const { response, leave } = await follow(await scene())
  expect(response.headers.get('cache-control')).toBe('no-store, no-transform')
  await leave()
})

it.skipIf(sqlite === undefined)(
  'a client that reconnects is told to fetch everything again, whatever its last event id',
  async () => {
    const api = await scene()
    const first = await follow(api)
    const { id } = await first.until(({ event }) => event === 'hello')
    expect(id).not.toBe('')
    await first.leave()
    for (const last of [id, 'deadbeef-7', '\u00e4-\u00e4-1; x']) {
      const back = await follow(api, { headers: { 'last-event-id': last } })
      expect((await back.until(({ event }) => event === 'change')).topics).toEqual([
        'schedules',
        'jobs',
        'workers',
      ])
    }
  },
)

it.skipIf(sqlite === undefined)(
  "the first listener is told about changes made before the server's first poll, even if no poll can see them",
  async () => {
    const api = await scene()
    // Database servers store the time of a change to the second, so a later change in that second is not visible.
    api.kalends.api.views.changeTokens = () => Promise.resolve({ schedules: '1', jobs: '1', workers: '1' })
    for (const _ of ['first', 'again']) {
      const stream = await follow(api)
      await stream.until(({ event }) => event === 'hello')
      await pass(2000)
      expect(stream.messages.filter(({ event }) => event === 'change')).toMatchObject([
        { topics: ['schedules', 'jobs', 'workers'] },
      ])
      await stream.leave()
    }
  },
)

it.skipIf(sqlite === undefined)('a burst of changes causes at most one message per second', async () => {
  const api = await scene()
  const stream = await follow(api)
  for (let ms = 0; ms < 2000; ms += 20) {
    await api.call(`PUT /api/v1/schedules/s${ms}`, { body: { task: 't', timer: 'daily' } })
    await pass(20)
  }
  const changes = () => stream.messages.filter(({ event }) => event === 'change')
  // The messages are sent after 1 and 2 seconds.
  while (changes().length < 2) await turn()
  expect(changes()).toHaveLength(2)
})

it.skipIf(sqlite === undefined)(
  'there is no polling without listeners, and a client that disconnects is removed',
  async () => {
    const api = await scene()
    const looks = looksOf(api)
    const stream = await follow(api)
    while (looks.length < 2) await pass(20)
    await stream.leave()
    for (let second = 0; second < 60; second += 1) await pass(1000)
    expect(looks).toHaveLength(2)
  },
)

it.skipIf(sqlite === undefined)(
  'the number of listeners and the duration of a connection are limited',
  async () => {
    const api = await scene({ listeners: 2, lifeMs: 1000 })
    const [one] = [await follow(api), await follow(api)]
    const third = await api.call('GET /api/v1/events')
    expect([third.status, third.headers.get('retry-after')]).toEqual([503, '10'])
    await pass(1000)
    await one.ended
    await (await follow(api)).leave()
    // A HEAD request does not subscribe.
    for (let index = 0; index < 5; index += 1)
      expect((await api.send('HEAD /api/v1/events')).status).toBe(200)
    expect((await api.send('GET /api/v1/events')).status).toBe(200)
  },
)

it.skipIf(sqlite === undefined)('one reader gets at most ten of the connections [V4]', async () => {
  const api = await scene()
  const own = await Promise.all(Array.from({ length: 10 }, () => follow(api, { as: 'reader' })))
  const eleventh = await api.call('GET /api/v1/events', { as: 'reader' })
  expect([eleventh.status, eleventh.body.code, eleventh.headers.get('retry-after')]).toEqual([
    429,
    'TOO_MANY_STREAMS',
    '10',
  ])
  await follow(api, { as: 'operator' })
  await own[0]?.leave()
  await follow(api, { as: 'reader' })
})

it.skipIf(sqlite === undefined)('readers without a name are counted by address', async () => {
  if (sqlite === undefined) return
  const { handler } = await apiScene(sqlite, {
    authorize: () => ({ role: 'read' }),
    events: { perUser: 2 },
  })
  const status = async (address: string) =>
    (await handler(new Request('https://app.example/api/v1/events'), { address })).status
  const statuses: number[] = []
  for (const address of ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2']) statuses.push(await status(address))
  expect(statuses).toEqual([200, 200, 429, 200])
})

it.skipIf(sqlite === undefined)(
  'a slow client delays no other client, and few messages wait for it',
  async () => {
    const api = await scene()
    const slow = await api.send('GET /api/v1/events')
    const quick = await follow(api)
    for (let index = 0; index < 8; index += 1) {
      await api.call(`PUT /api/v1/schedules/s${index}`, { body: { task: 't', timer: 'daily' } })
      await pass(1020)
    }
    expect(quick.messages.length).toBeGreaterThan(6)
    api.handler.close()
    let bytes = 0
    for await (const part of slow.body ?? []) bytes += part.length
    expect(bytes).toBeLessThan(1500)
  },
)

it('topics that exceed the queue of a slow client arrive in one message when the client reads again', async () => {
  const { signal } = new AbortController()
  const stream = new EventStream({ user: null, isScoped: false }, signal, 60_000, () => undefined)
  onTestFinished(() => stream.close())
  for (let message = 1; message <= 8; message += 1) stream.notify(['workers'])
  stream.notify(['schedules'])
  stream.notify(['jobs'])
  const reader = stream.response.body?.getReader()
  const next = async () => new TextDecoder().decode((await reader?.read())?.value)
  for (let message = 1; message <= 8; message += 1) expect(await next()).toContain('["workers"]')
  stream.notify([])
  expect(await next()).toBe('event: change\ndata: {"topics":["schedules","jobs"]}\n\n')
})

it.skipIf(sqlite === undefined)(
  'close ends all connections, and an aborted request ends its own connection',
  async () => {
    const api = await scene()
    const controller = new AbortController()
    const [aborted, other] = [await follow(api, { signal: controller.signal }), await follow(api)]
    controller.abort()
    await aborted.ended.catch(() => undefined)
    api.handler.close()
    await other.ended
  },
)

it.skipIf(sqlite === undefined)('a scope gets no events about workers', async () => {
  const api = await scene()
  const stream = await follow(api, { as: 'ann', headers: { 'last-event-id': 'x' } })
  expect((await stream.until(({ event }) => event === 'change')).topics).toEqual(['schedules', 'jobs'])
})
