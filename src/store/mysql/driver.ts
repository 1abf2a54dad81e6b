import type mysql from 'mysql2/promise'
import { firstLine, InvalidInputError, messageOf } from '../../errors.ts'

/** mysql2, which applications on other databases need not install. @throws InvalidInputError */
export async function mysqlDriver(): Promise<typeof mysql> {
  // Bundlers find a literal name, and accept inside `try` that the package is not installed.
  try {
    return (await import('mysql2/promise')).default
  } catch (cause) {
    throw new InvalidInputError(
      'database',
      `MySQL and MariaDB need the driver mysql2, which cannot be loaded (${firstLine(messageOf(cause))}); run: npm install mysql2`,
      { cause },
    )
  }
}
