/** The administrator at a terminal: SQL through MariaDB's command-line client, which talks to MySQL as well. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import type { TestDatabase } from './databases.ts'
import { hasProgram } from './not-tested.ts'

const run = promisify(execFile)

/** Whether the client is on this machine. Where it is missing, the last lines of the run say so. */
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
 * @returns what the client prints: tab-separated lines, without a heading
 * @throws Error with the client's own message when the statement fails
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
