/**
 * Rows that a transaction had locked have changed before it wrote them, so the server did not keep its locks. The
 * transaction must be rolled back, as if it had not obtained the locks.
 */
export class RowsChangedError extends Error {
  override readonly name = 'RowsChangedError'

  constructor(table: string, written: number, expected: number) {
    super(
      `Nothing was written, because only ${written} of ${expected} rows of ${table} were still as this transaction had locked them`,
    )
  }
}
