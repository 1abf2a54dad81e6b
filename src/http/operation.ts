import { z } from 'zod'
import type { Kalends, Scope } from '../index.ts'
import type { Access, Permission, RequestContext } from './access.ts'
import type { Changes } from './changes.ts'
import type { Subject } from './options.ts'
import type { WriteLog } from './write-log.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: Request
  readonly context: RequestContext
  readonly access: Access
  readonly reach: Scope
  readonly kalends: Kalends
  readonly redaction: Kalends['redaction']
  /** Asks the application's hook; to be called before each write. @throws Problem 403 when the hook refuses */
  readonly permit: (subject: Subject) => Promise<void>
  /** Whether callers without a scope may use built-in tasks. */
  readonly builtInTasks: boolean
  readonly writes: WriteLog
  readonly changes: Changes
  readonly metrics: () => Promise<Response>
  /** The mount point: `/`, or for example `/kalends/`. */
  readonly base: string
}

export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export function ok(body: unknown): Answer {
  return { status: 200, body }
}

export interface Answers {
  readonly [status: number]: {
    readonly description: string
    readonly schema?: z.ZodType
    /** The content type of a body without a schema. */
    readonly type?: string
  }
}

interface Description {
  readonly summary: string
  readonly description?: string
  /** Whether the operation covers all owners; if so, callers with a scope cannot use it. */
  readonly unscoped?: boolean
  readonly answers: Answers
}

export interface Operation extends Description {
  /** The name of the operation in generated clients. */
  readonly id: string
  readonly method: Method
  /** `/api/v1/schedules/{id}` */
  readonly path: string
  /** Null if any caller may use the operation, even without a sign-in. */
  readonly permission: Permission | null
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly body: z.ZodType | null
  readonly run: (call: Call) => Promise<Answer | Response>
}

const Nothing = z.strictObject({})

export function operation<
  Params extends z.ZodObject = typeof Nothing,
  Query extends z.ZodObject = typeof Nothing,
  Body extends z.ZodType = z.ZodUndefined,
>(
  id: string,
  method: Method,
  path: string,
  permission: Permission | null,
  definition: Description & {
    readonly params?: Params
    readonly query?: Query
    readonly body?: Body
    readonly run: (
      call: Call<z.output<Params>, z.output<Query>, z.output<Body>>,
    ) => Promise<Answer | Response>
  },
): Operation {
  const { params = Nothing, query = Nothing, body = null, run, ...rest } = definition
  // These schemas parsed the input.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...rest, id, method, path, permission, params, query, body, run: run as Operation['run'] }
}
