import type { DatabaseKind } from './databases.ts'

/**
 * The statement that creates a trigger of the application, which rejects some writes.
 *
 * @param condition  with NEW or OLD
 */
export function refusal(
  kind: DatabaseKind,
  when: 'INSERT' | 'UPDATE' | 'DELETE',
  table: string,
  condition: string,
  { name = 'refuse', message = 'refused' } = {},
): string {
  const head = `CREATE TRIGGER ${name} BEFORE ${when} ON ${table}`
  return kind === 'sqlite'
    ? `${head} WHEN ${condition} BEGIN SELECT RAISE(ABORT, '${message}'); END`
    : `${head} FOR EACH ROW BEGIN IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${message}'; END IF; END`
}
