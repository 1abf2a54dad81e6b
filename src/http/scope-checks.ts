/** Rejects input that a caller may not send: rows of other owners, and searches in hidden values. */
import type { JobConditions } from '../index.ts'
import type { Access } from './access.ts'
import type { Call } from './operation.ts'
import { invalidField, Problem } from './problem.ts'

/**
 * The scope supplies the owner. Another owner in the body is rejected instead of silently replaced. A value for a field
 * that the scope leaves open is also rejected, because the row would then belong to another owner.
 *
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
 * A search can reveal text letter by letter, so callers cannot search values that are hidden from them.
 *
 * @param path  the path of the conditions in a body
 */
export function checkSearch(
  conditions: JobConditions,
  { access, redaction }: Pick<Call, 'access' | 'redaction'>,
  path = '',
): void {
  if (conditions.args !== undefined && redaction.hides('args'))
    throw invalidField(`${path}args`, 'cannot be searched here, because parts of the args are hidden')
  if (access.scope === undefined) return
  if (conditions.error !== undefined)
    throw invalidField(`${path}error`, 'callers with a scope cannot search errors, parts of which are hidden')
  if (conditions.worker !== undefined)
    throw invalidField(`${path}worker`, 'callers with a scope cannot search by worker')
}
