/** Helpers for the API suites: a Kalends instance on a private database, the handler, and calls. */
import { onTestFinished } from 'vitest'
import { type Access, http, type HttpHandler, type HttpOptions } from '../../src/http/index.ts'
import type { Kalends } from '../../src/index.ts'
import { collectingLogger, type LoggedLine, scene } from '../kalends/scene.ts'
import type { DatabaseUnderTest, TestDatabase } from '../support/databases.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed JSON; undefined for other content types. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests check the type
  readonly body: any
}

export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Default: an administrator. */
  readonly as?: string
  readonly signal?: AbortSignal
}

export interface ApiScene {
  readonly database: TestDatabase
  readonly kalends: Kalends
  readonly handler: HttpHandler
  readonly lines: LoggedLine[]
  readonly call: (line: string, options?: CallOptions) => Promise<Reply>
  readonly send: (line: string, options?: CallOptions) => Promise<Response>
}

/** The known users, by token. */
export const USERS: Readonly<Record<string, Access>> = {
  admin: { role: 'admin', submit: true, user: 'ada' },
  operator: { role: 'operate', user: 'olaf' },
  reader: { role: 'read', user: 'rita' },
  ann: { role: 'admin', submit: true, user: 'ann', scope: { submitter: 'ann' }, tasks: ['mail', 'work'] },
  bob: {
    role: 'admin',
    submit: true,
    user: 'bob',
    scope: { submitter: 'bob', group: 'b' },
    tasks: ['mail', 'work'],
  },
  annReads: { role: 'read', user: 'ann', scope: { submitter: 'ann' } },
}

export const SITE = 'http://app.example'

export async function apiScene(
  under: Pick<DatabaseUnderTest, 'fresh'>,
  options: HttpOptions = {},
  kalendsOptions: Parameters<Awaited<ReturnType<typeof scene>>['open']>[0] = {},
): Promise<ApiScene> {
  const { database, open } = await scene(under)
  const { logger, lines } = collectingLogger()
  const kalends = await open({ logger, ...kalendsOptions })
  const handler = http(kalends, {
    authorize: (request) => USERS[request.headers.get('authorization')?.replace('Bearer ', '') ?? ''] ?? null,
    ...options,
  })
  onTestFinished(() => handler.close())
  const send = (line: string, { body, headers = {}, as = 'admin', signal }: CallOptions = {}) =>
    handler(
      request(line, {
        body,
        headers: { authorization: `Bearer ${as}`, ...headers },
        ...(signal && { signal }),
      }),
    )
  return {
    database,
    kalends,
    handler,
    lines,
    send,
    call: async (line, callOptions) => await replyOf(await send(line, callOptions)),
  }
}

/** @param line  `POST /api/v1/schedules` */
export function request(line: string, { body, headers = {}, signal }: CallOptions = {}): Request {
  const [method = '', path = ''] = line.split(/ (.*)/s)
  return new Request(path.startsWith('/') ? SITE + path : path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

/** The API paths that show texts of the job, which belongs to the schedule `s`. */
export function placesOf(job: string): string[] {
  return [
    `jobs/${job}`,
    'jobs',
    `jobs/${job}/logs`,
    `jobs/${job}/attempts`,
    'failures',
    'schedules',
    'schedules/s',
    'schedules/s/history',
    'schedules/s/explain',
    `schedules/s/explain?at=${new Date().toISOString()}`,
  ]
}
