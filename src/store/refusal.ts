/** A row that the database rejected. */
export interface Refusal<Item> {
  readonly item: Item
  readonly error: unknown
}

/** Receives a message for people about rows that were set aside, unless the caller of the operation learns of them. */
export type OnSetAside = (message: string, fields: { readonly id: string; readonly err: unknown }) => void

/** Every row that was tried was rejected for the same reason, so the server may be at fault. No row is left out. */
export class AllRefusedError extends Error {
  override readonly name = 'AllRefusedError'
}

/** Called with the id of each row that the database rejects. The store leaves out the row until its back-off ends. */
export type OnRefused = (id: string, error: unknown) => void
