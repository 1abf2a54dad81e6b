/** Whose schedules and jobs a call may reach: those with this group and this submitter. */
export interface Owner {
  /** null: any. */
  readonly group: string | null
  /** null: any. */
  readonly submitter: string | null
}

export const ANY_OWNER: Owner = { group: null, submitter: null }
