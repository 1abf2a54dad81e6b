/**
 * The rows that a call can access, and the namespace of the ids that their owner chooses.
 *
 * In a scope, an id that the owner chose is stored as `<owner>/<id>` and shown without the prefix. So no owner can use,
 * or find out about, an id of another owner or of the application. Ids from the application's code contain no slash.
 * Job ids are ASCII, so the owner's name is percent-encoded.
 */
import { createHash } from 'node:crypto'
import { ForbiddenError, InvalidInputError } from '../errors.ts'
import { checkedName, shownInput } from './input.ts'
import { isUpTo, NAME_LIMIT } from './settings.ts'

/** Restricts a call to the schedules and jobs with this group and this submitter; null means any. */
export interface Owner {
  readonly group: string | null
  readonly submitter: string | null
}

export const ANY_OWNER: Owner = { group: null, submitter: null }

/** Longer prefixes are hashed, so that every owner keeps at least this much room for its own ids. */
const LONGEST_PREFIX = NAME_LIMIT / 2

/** `<submitter>/`, `<group>:/` or `<group>:<submitter>/`, or `~<hash>/` if too long: unique; empty for ANY_OWNER. */
export function prefixOf({ group, submitter }: Owner): string {
  if (group === null && submitter === null) return ''
  const name = `${group === null ? '' : `${encoded(group)}:`}${encoded(submitter ?? '')}`
  if (name.length < LONGEST_PREFIX) return `${name}/`
  return `~${createHash('sha256').update(name).digest('hex').slice(0, 32)}/`
}

/** Encodes blanks, non-ASCII characters and those with a meaning in a prefix. decodeURIComponent restores the name. */
function encoded(name: string): string {
  return name.replaceAll(/[^!-~]|[%/:~]/gu, (character) =>
    character === '~' ? '%7E' : encodeURIComponent(character),
  )
}

/**
 * Rejects a value for a field that the scope leaves open, because the row would then also belong to another owner.
 *
 * @throws ForbiddenError
 */
export function requireOwnFields(
  owner: Owner,
  given: { readonly group?: string | null | undefined; readonly submitter?: string | null | undefined },
): void {
  if (prefixOf(owner) === '') return
  for (const field of ['group', 'submitter'] as const)
    if (owner[field] === null && (given[field] ?? '') !== '')
      throw new ForbiddenError(
        `${field}: this scope has no ${field}, so it cannot write one; leave it out, or create the scope with it`,
      )
}

/** The fields that every row of an owner has, regardless of the input. */
export function ownedSettings({ group, submitter }: Owner) {
  return { ...(group !== null && { group }), ...(submitter !== null && { submitter }) }
}

export function shownId(owner: Owner, stored: string): string {
  const prefix = prefixOf(owner)
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : stored
}

/**
 * The possible stored ids, likeliest first: prefixed if the owner chose the id, without a prefix if it was generated.
 */
export function storedIds(owner: Owner, shown: string): readonly string[] {
  const prefix = prefixOf(owner)
  return prefix === '' ? [shown] : [`${prefix}${shown}`, shown]
}

/** The stored id of a new schedule. @throws InvalidInputError */
export function newId(owner: Owner, id: string): string {
  const prefix = prefixOf(owner)
  checkedName('id', id, NAME_LIMIT)
  if (id.includes('/')) throw new InvalidInputError('id', `must be an id without '/', got ${shownInput(id)}`)
  if (!isUpTo(id, NAME_LIMIT - prefix.length))
    throw new InvalidInputError(
      'id',
      `must be an id of 1 to ${NAME_LIMIT - prefix.length} characters (the prefix of this scope takes ${prefix.length} of ${NAME_LIMIT}), got ${shownInput(id)}`,
    )
  return `${prefix}${id}`
}

/** Whether a job can have the id: it must be ASCII, without a trailing space, which servers would ignore. */
export function isJobId(id: string): boolean {
  return /^\p{ASCII}*$/u.test(id) && !id.endsWith(' ')
}

/** The stored id of a new job. @throws InvalidInputError as for `newId`, and when the id is not ASCII */
export function chosenJobId(owner: Owner, id: string): string {
  const stored = newId(owner, id)
  if (!isJobId(id))
    throw new InvalidInputError(
      'id',
      `must be a job id of 1 to ${NAME_LIMIT} ASCII characters, got ${shownInput(id)}`,
    )
  return stored
}
