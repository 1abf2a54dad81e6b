/** One operation of the API: where it is, who may, what it takes, what it gives. The document is made of these. */
import type { z } from 'zod'
import type { Kalends, Redaction, Scope } from '../index.ts'
import type { Access, Permission, RequestContext } from './access.ts'
import type { Audit } from './audit.ts'
import type { Changes } from './changes.ts'
import type { Metrics } from './metrics.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What an operation works with. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: Request
  readonly context: RequestContext
  readonly access: Access
  /** The schedules, jobs and views that the caller may reach. */
  readonly reach: Scope
  readonly kalends: Kalends
  readonly redaction: Redaction
  /** Asks the application's hook, before each write. @throws Problem 403 when it refuses */
  readonly permit: (subject: Subject) => Promise<void>
  readonly audit: Audit
  readonly changes: Changes
  readonly metrics: Metrics
  /** The mount point: `/` or such as `/kalends/`. */
  readonly base: string
}

/** What is about to be written; ids as the caller knows them. */
export interface Subject {
  readonly task: string
  readonly schedule?: string | null
  readonly job?: string | null
}

export interface Answer {
  readonly status: number
  /** As JSON; undefined: none. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answers {
  readonly [status: number]: { readonly says: string; readonly schema?: z.ZodType; readonly type?: string }
}

export interface Operation {
  /** For generated clients. */
  readonly id: string
  readonly method: Method
  /** `/api/v1/schedules/{id}` */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string | undefined
  /** Null: any caller, also without a sign-in. */
  readonly permission: Permission | null
  /** It covers all owners: callers with a scope cannot use it. */
  readonly unscoped: boolean
  readonly params: z.ZodObject | null
  readonly query: z.ZodObject
  readonly body: z.ZodType | null
  readonly bodyOptional: boolean
  readonly answers: Answers
  readonly run: (call: Call) => Promise<Answer | Response>
}

type Input<Schema extends z.ZodType | undefined> = Schema extends z.ZodType ? z.output<Schema> : undefined

interface Definition<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends z.ZodType | undefined,
> extends Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'description' | 'permission' | 'answers'> {
  readonly unscoped?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly bodyOptional?: boolean
  readonly run: (call: Call<Input<Params>, Input<Query>, Input<Body>>) => Promise<Answer | Response>
}

/** Defines an operation; what it takes is typed by its schemas. */
export function operation<
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(definition: Definition<Params, Query, Body>, empty: z.ZodObject): Operation {
  const { params, query, body, unscoped = false, bodyOptional = false, run, ...rest } = definition
  return {
    ...rest,
    tag: /^\/api\/v1\/([\w-]+)/.exec(definition.path)?.[1] ?? 'server',
    unscoped,
    params: params ?? null,
    query: query ?? empty,
    body: body ?? null,
    bodyOptional,
    // What comes in was read by these very schemas.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    run: run as Operation['run'],
  }
}
