/** Runs SQL as an administrator does: through MariaDB's command-line client, which also supports MySQL. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import type { TestDatabase } from './databases.ts'
import { hasProgram } from './not-tested.ts'

const run = promisify(execFile)

/** Whether the client is installed. If not, the last lines of the run's output report this. */
export async function hasMariadbClient(): Promise<boolean> {
  const testRun = inject('testRun')
  if (testRun.servers.length === 0) return false
  return await hasProgram(
    testRun,
    "SQL typed into MariaDB's command-line client",
    'mariadb',
    'mariadb-client',
  )
}

/**
 * @returns the output of the client: tab-separated lines without a header
 * @throws Error with the client's message if the statement fails
 */
export async function mariadbClient(database: TestDatabase, sql: string): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(database.url)
  const { stdout } = await run(
    'mariadb',
    [
      '--no-defaults',
      '--protocol=TCP',
      `--host=${hostname}`,
      `--port=${port || '3306'}`,
      `--user=${decodeURIComponent(username)}`,
      '--batch',
      '--skip-column-names',
      `--execute=${sql}`,
      pathname.slice(1),
    ],
    { env: { ...process.env, MYSQL_PWD: decodeURIComponent(password) } },
  )
  return stdout
}
