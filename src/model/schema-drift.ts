import { type Finding, findings, findingsOfEach, MAX_SUBJECTS } from './diagnosis.ts'

/** The differences between the tables and those that this version needs. */
export interface SchemaDrift {
  /** Migrations that have not been applied. */
  readonly pending: readonly string[]
  /** Missing items, such as `table job` or `column job.state`. */
  readonly missing: readonly string[]
  /** Tables that do not support transactions; the engine of a view is VIEW. */
  readonly engines: readonly { readonly table: string; readonly engine: string }[]
  /** Why this version cannot use the tables, or null if it can. */
  readonly version: string | null
}

export const VIEW = 'VIEW'

export function schemaFindings({ pending, missing, engines, version }: SchemaDrift): Finding[] {
  return [
    ...findings('schema', version === null ? [] : named(['version']), () => ({
      problem: version ?? '',
      fix: 'upgrade this process and every older worker; until then, older workers take on no work',
    })),
    ...findings('schema', named(pending), () => ({
      problem: `the tables are older than this version; migrations not applied: ${pending.join(', ')}`,
      fix: 'run `kalends migrate`',
    })),
    ...findings('schema', named(pending.length > 0 ? [] : missing), () => ({
      problem: `the tables were changed outside of Kalends; missing: ${missing.slice(0, MAX_SUBJECTS).join(', ')}`,
      fix: "restore them from the SQL files in this package's folder drizzle/, or from a backup; `kalends migrate` does not run a migration twice",
    })),
    ...findingsOfEach(
      'schema',
      engines.map((table) => ({ id: `table ${table.table}`, ...table })),
      ({ table, engine }) =>
        engine === VIEW
          ? {
              problem: `${table} is a view, not the table that Kalends created`,
              fix: 'stop all workers, rename or drop the view, and give the table its name back',
            }
          : {
              problem: `the table ${table} uses the engine ${engine}, which has no transactions: jobs may be lost or started twice`,
              fix: `stop all workers, and run \`ALTER TABLE ${table} ENGINE=InnoDB\``,
            },
    ),
  ]
}

function named(names: readonly string[]): { readonly id: string }[] {
  return names.map((id) => ({ id }))
}
