/**
 * Whose rows a call may reach, and the namespace of the ids that this owner chooses.
 *
 * A scope stores an id of its owner's choosing as `<owner>/<id>` and shows it without the prefix, so that no owner
 * can take, or find out about, an id of another owner or of code. Ids from code contain no slash.
 */
import { createHash } from 'node:crypto'
import { ForbiddenError, InvalidInputError } from '../errors.ts'
import { checkedName, shownInput } from './input.ts'

/** Whose schedules and jobs a call may reach: those with this group and this submitter. */
export interface Owner {
  /** null: any. */
  readonly group: string | null
  /** null: any. */
  readonly submitter: string | null
}

export const ANY_OWNER: Owner = { group: null, submitter: null }

/** The longest id of a schedule or a job, in characters, with the prefix of its owner. */
export const ID_LIMIT = 190
/** A longer prefix is hashed: it must leave room for the id. */
const LONGEST_PREFIX = 100

/**
 * What stands before the ids of an owner's choosing: `<submitter>/`, `<group>:/` or `<group>:<submitter>/`; empty for
 * any owner. Two owners never have the same one.
 */
export function prefixOf({ group, submitter }: Owner): string {
  if (group === null && submitter === null) return ''
  const name = `${group === null ? '' : `${escaped(group)}:`}${escaped(submitter ?? '')}`
  if (name.length < LONGEST_PREFIX) return `${name}/`
  return `~${createHash('sha256').update(name).digest('hex').slice(0, 32)}/`
}

/** The characters that separate the parts of a prefix, and the one that marks a hash. */
function escaped(name: string): string {
  return name.replaceAll(/[%/:~]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

/**
 * A row with a value in the field that the scope leaves open would be one of another owner's as well.
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
        `${field}: this scope has no ${field}, so it cannot write one; leave it out, or make the scope with it`,
      )
}

/** What every row of an owner has, whatever the input says. */
export function ownedSettings({ group, submitter }: Owner): {
  readonly group?: string
  readonly submitter?: string
} {
  return { ...(group !== null && { group }), ...(submitter !== null && { submitter }) }
}

/** How an owner sees the id of a row that it reaches. */
export function shownId(owner: Owner, stored: string): string {
  const prefix = prefixOf(owner)
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : stored
}

/**
 * The ids under which a row that an owner calls `shown` may be stored, the likelier one first: an id of the owner's
 * choosing has the prefix; a generated one, or one that code has given to a row of this owner, has none.
 */
export function storedIds(owner: Owner, shown: string): readonly string[] {
  const prefix = prefixOf(owner)
  return prefix === '' ? [shown] : [`${prefix}${shown}`, shown]
}

/**
 * The id under which a new row is stored that the caller has named.
 *
 * @throws InvalidInputError when it is empty, too long, or has a character that no id may have
 */
export function newId(owner: Owner, id: string): string {
  const prefix = prefixOf(owner)
  checkedName('id', id, ID_LIMIT - prefix.length)
  if (id.includes('/'))
    throw new InvalidInputError('id', `an id without '/' is needed, not ${shownInput(id)}`)
  return `${prefix}${id}`
}
