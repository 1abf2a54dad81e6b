/** A row that the database rejected. */
export interface Refusal<Item> {
  readonly item: Item
  readonly error: unknown
}

/**
 * Called once for rows that were set aside by the same operation, until one of them is accepted.
 *
 * @param message  for people; it names the first row
 * @param kind  of the first row, such as 'job'
 */
export type OnSetAside = (message: string, first: { kind: string; id: string; error: unknown }) => void

/** Every row that was tried was rejected for the same reason, so the server may be at fault. No row is left out. */
export class AllRefusedError extends Error {
  override readonly name = 'AllRefusedError'
}

/** Called with the id of each row that the database rejects. The store leaves out the row until its back-off ends. */
export type OnRefused = (id: string, error: unknown) => void
