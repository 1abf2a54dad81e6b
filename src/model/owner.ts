/**
 * Which rows a call can access, and the namespace of the ids that this owner chooses.
 *
 * A scope stores an id that its owner chose as `<owner>/<id>` and shows it without the prefix. So no owner can take, or
 * find out about, an id of another owner or of the application. Ids from the application's code contain no slash.
 */
import { createHash } from 'node:crypto'
import { ForbiddenError, InvalidInputError } from '../errors.ts'
import { checkedName, shownInput } from './input.ts'

/** Restricts a call to the schedules and jobs with this group and this submitter. */
export interface Owner {
  /** null: any. */
  readonly group: string | null
  /** null: any. */
  readonly submitter: string | null
}

export const ANY_OWNER: Owner = { group: null, submitter: null }

/** The longest id of a schedule or a job, in characters, including the owner's prefix. */
export const ID_LIMIT = 190
/** Longer prefixes are hashed, so that there is room for the id. */
const LONGEST_PREFIX = 100

/**
 * The prefix of the ids that an owner chooses: `<submitter>/`, `<group>:/` or `<group>:<submitter>/`; empty for any
 * owner. Two owners never have the same prefix.
 */
export function prefixOf({ group, submitter }: Owner): string {
  if (group === null && submitter === null) return ''
  const name = `${group === null ? '' : `${escaped(group)}:`}${escaped(submitter ?? '')}`
  if (name.length < LONGEST_PREFIX) return `${name}/`
  return `~${createHash('sha256').update(name).digest('hex').slice(0, 32)}/`
}

/** Escapes the characters that separate the parts of a prefix, and the one that marks a hash. */
function escaped(name: string): string {
  return name.replaceAll(/[%/:~]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

/**
 * Rejects a value in the field that the scope leaves open, because the row would then also belong to another owner.
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

/** The fields that every row of an owner has, whatever the input is. */
export function ownedSettings({ group, submitter }: Owner): {
  readonly group?: string
  readonly submitter?: string
} {
  return { ...(group !== null && { group }), ...(submitter !== null && { submitter }) }
}

/** The id that an owner sees for one of its rows. */
export function shownId(owner: Owner, stored: string): string {
  const prefix = prefixOf(owner)
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : stored
}

/**
 * The stored ids that an owner may see as `shown`, the likelier one first. An id that the owner chose has the prefix.
 * Generated ids, and ids that the application chose for a row of this owner, have none.
 */
export function storedIds(owner: Owner, shown: string): readonly string[] {
  const prefix = prefixOf(owner)
  return prefix === '' ? [shown] : [`${prefix}${shown}`, shown]
}

/**
 * The stored id of a new row whose id the caller chose.
 *
 * @throws InvalidInputError when it is empty, too long, or contains an invalid character
 */
export function newId(owner: Owner, id: string): string {
  const prefix = prefixOf(owner)
  checkedName('id', id, ID_LIMIT - prefix.length)
  if (id.includes('/'))
    throw new InvalidInputError('id', `an id without '/' is needed, not ${shownInput(id)}`)
  return `${prefix}${id}`
}
