/**
 * `npm run schema`: drizzle-kit generates migrations from the schemas. For a changed CHECK on SQLite, drizzle-kit
 * copies the table with a statement that names too many columns: SQLite rejects generated columns there, and reads the
 * quoted names of new columns as strings. This script keeps only the columns that both tables store.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'drizzle/sqlite')

/** The part of a drizzle-kit snapshot that this script reads. */
interface Snapshot {
  readonly tables: Readonly<
    Record<
      string,
      { readonly columns: Readonly<Record<string, { readonly name: string; readonly generated?: unknown }>> }
    >
  >
}

/**
 * @param migration  the text of a migration
 * @param before  the snapshot before the migration
 * @param after  the snapshot after it
 */
export function withStoredColumns(migration: string, before: Snapshot, after: Snapshot): string {
  return migration.replace(/^INSERT INTO `__new_(.+?)`\(.*\) SELECT .* FROM `\1`;/gmu, (_, table) => {
    const known = before.tables[table]?.columns ?? {}
    const columns = Object.values(after.tables[table]?.columns ?? {})
      .filter(({ name, generated }) => generated === undefined && name in known)
      .map(({ name }) => `\`${name}\``)
      .join(', ')
    return `INSERT INTO \`__new_${table}\`(${columns}) SELECT ${columns} FROM \`${table}\`;`
  })
}

if (process.argv[1] === import.meta.filename) {
  const migrations = () => readdirSync(FOLDER).filter((name) => name.endsWith('.sql'))
  const known = migrations()
  for (const dialect of ['mysql', 'sqlite'])
    execFileSync('npx', ['drizzle-kit', 'generate', '--config', `drizzle/${dialect}.config.ts`], {
      cwd: ROOT,
      stdio: 'inherit',
    })
  const snapshot = (number: number): Snapshot =>
    JSON.parse(readFileSync(join(FOLDER, `meta/${String(number).padStart(4, '0')}_snapshot.json`), 'utf8'))
  for (const name of migrations()) {
    const number = Number.parseInt(name, 10)
    if (known.includes(name) || number === 0) continue
    const file = join(FOLDER, name)
    writeFileSync(file, withStoredColumns(readFileSync(file, 'utf8'), snapshot(number - 1), snapshot(number)))
  }
}
