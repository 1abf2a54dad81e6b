import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { GrantedTasks, OwnerLimits } from '../index.ts'
import { Problem, shortened } from './problem.ts'

/**
 * `read` can only read; `operate` can also run, pause, resume, reset, cancel and retry; `admin` can also create, change
 * and delete schedules, and freeze and thaw.
 */
export type Role = 'read' | 'operate' | 'admin'
export type Permission = Role | 'submit'

/** A caller and its permissions. */
export interface Access {
  readonly role: Role
  /** Whether the caller may submit jobs, and run a schedule with other args; default false. No role includes it. */
  readonly submit?: boolean | undefined
  /** The only rows that the caller can access; default: all. */
  readonly scope?:
    | { readonly group?: string | undefined; readonly submitter?: string | undefined }
    | undefined
  /**
   * The tasks whose schedules and jobs the caller may write. Required with a scope, unless the caller may only read;
   * without a scope, the default is every task except the built-in ones (see the option `builtInTasks`).
   */
  readonly tasks?: GrantedTasks | undefined
  /** Limits of the owner. Without a scope, the default is no limits. */
  readonly limits?: OwnerLimits | undefined
  /** The user's name for the audit log. */
  readonly user?: string | undefined
}

export function taskNames({ tasks }: Access): string[] | undefined {
  return tasks?.map((one) => (typeof one === 'string' ? one : one.name))
}

/** Where a request comes from. */
export interface RequestContext {
  /** Node's own request, including what the application's middleware added, such as a session. */
  readonly incoming?: IncomingMessage | undefined
  /** The path under which the framework mounted the handler, such as `/kalends`; `node` takes it from Express. */
  readonly basePath?: string | undefined
  /**
   * The address of the connection, for servers without `incoming`. `authorize` gets the client's address here, if it is
   * known; behind a proxy of `trustedProxies`, the address that the proxy reports.
   */
  readonly address?: string | undefined
}

/** Returns null for an unknown caller. Must not read the body. */
export type Authorize = (request: Request, context: RequestContext) => Access | null | Promise<Access | null>

export const UNKNOWN_USER = '\0unknown'

const owner = z.string().min(1).optional()
const Scope = z
  .strictObject({ group: owner, submitter: owner })
  .refine(({ group, submitter }) => group !== undefined || submitter !== undefined)

const RANK: Readonly<Record<Role, number>> = { read: 1, operate: 2, admin: 3 }

export function isRole(value: unknown): value is Role {
  return typeof value === 'string' && Object.hasOwn(RANK, value)
}

/** @throws Problem 403 */
export function requirePermission({ role, submit = false }: Access, needed: Permission): void {
  if (needed === 'submit') {
    if (submit) return
    throw new Problem(
      403,
      'MAY_NOT_SUBMIT',
      "This needs the permission 'submit', which no role includes; the 'authorize' hook grants it",
    )
  }
  if (RANK[role] >= RANK[needed]) return
  throw new Problem(403, 'ROLE_TOO_LOW', `This needs the role '${needed}'; yours is '${role}'`)
}

/** Without this check, a scope that is null or has a misspelt field would allow everything. @throws TypeError */
export function checkAccess({ role, submit, scope, tasks }: Access): void {
  if (!isRole(role))
    throw new TypeError(
      `authorize returned the role ${JSON.stringify(role)}; it must be read, operate or admin`,
    )
  if (scope !== undefined && !Scope.safeParse(scope).success)
    throw new TypeError(
      `authorize returned the scope ${shortened(JSON.stringify(scope) ?? typeof scope)}; it must be { group, submitter } with a string for at least one of them; omit it for access to everything`,
    )
  const mayWrite = role !== 'read' || submit === true
  if (scope !== undefined && mayWrite && tasks === undefined)
    throw new TypeError(
      'authorize returned a scope with write access, but no tasks: list the tasks that the caller may use, as in { role, scope, tasks }',
    )
}

/**
 * The scope supplies the owner. Another owner in the body is rejected instead of silently replaced. A value for a field
 * that the scope leaves open is also rejected, because the row would then also belong to another owner.
 * @throws Problem 403
 */
export function checkOwner(
  body: { readonly group?: string | undefined; readonly submitter?: string | null | undefined },
  { scope }: Access,
): void {
  if (scope === undefined) return
  for (const field of ['group', 'submitter'] as const)
    if (body[field] !== undefined && body[field] !== scope[field])
      throw new Problem(403, 'OUT_OF_SCOPE', `${field}: you may only write your own`, {
        errors: [{ field, detail: 'you may only write your own; leave it out' }],
      })
}

/**
 * An `authorize` for tokens in the header `authorization: Bearer …`.
 *
 * @param tokens  the access that each token grants; tokens are compared in constant time
 */
export function bearer(tokens: Readonly<Record<string, Access>>): Authorize {
  const known = Object.entries(tokens).map(([token, access]) => {
    if (token.length < 16)
      throw new InvalidInputError(
        'tokens',
        'a token needs at least 16 characters; create one with openssl rand -hex 32',
      )
    return { digest: digestOf(token), access }
  })
  return (request) => {
    const sent = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    if (sent === undefined) return null
    const digest = digestOf(sent)
    let found: Access | null = null
    // Compares all tokens, so that the duration reveals nothing.
    for (const { digest: one, access } of known) if (timingSafeEqual(one, digest)) found = access
    return found
  }
}

/** All digests have the same length, which timingSafeEqual requires. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
