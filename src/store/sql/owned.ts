import type { Owner } from '../../model/owner.ts'
import type { SqlValue } from '../database.ts'

/** A condition with its values, for the end of a WHERE. */
export interface Condition {
  readonly text: string
  readonly params: readonly SqlValue[]
}

/** ` AND …` for each value that is given, so that it can follow any condition. */
export function andEquals(columns: Readonly<Record<string, string | null | undefined>>): Condition {
  const given = Object.entries(columns).flatMap(([column, value]) =>
    typeof value === 'string' ? [[column, value] as const] : [],
  )
  return {
    text: given.map(([column]) => ` AND ${column} = ?`).join(''),
    params: given.map(([, value]) => value),
  }
}

/** The rows of an owner: part of every statement of a scoped store, so that no id reaches beyond it. */
export function ownedBy({ group, submitter }: Owner): Condition {
  return andEquals({ group_: group, submitter })
}
