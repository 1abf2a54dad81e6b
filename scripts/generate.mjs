/**
 * Writes the modules in src/generated: the version, the migrations from drizzle/, the parts of the resulting tables,
 * and the page that vite has built. Because they are modules, an application's bundles contain them, and Kalends reads
 * no package files at run time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'src/generated')
const page = join(root, 'dist/ui')
const BREAKPOINT = '--> statement-breakpoint'
const dialects = readdirSync(join(root, 'drizzle'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const names = dialects.map((name) => `'${name}'`).join(' | ')

mkdirSync(folder, { recursive: true })
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
write('version.ts', `/** The version of this package. */\nexport const VERSION = ${literal(version)}\n`)
write(
  'migrations.ts',
  `/** In order, by dialect. Names of tables, indexes and constraints start with \`{prefix}\`. */
export const MIGRATIONS: Readonly<
  Record<${names}, readonly { readonly tag: string; readonly statements: readonly string[] }[]>
> = ${literal(ofEach(migrations))}\n`,
)
write(
  'parts.ts',
  `/** The columns, indexes and CHECKs of the tables, by dialect. Names of tables start with \`{prefix}\`. */
export const PARTS: Readonly<Record<${names}, readonly string[]>> = ${literal(ofEach(parts))}\n`,
)
write(
  'page.ts',
  `/** The files of the page, by path; empty if it was not built. */
export const PAGE: Readonly<Record<string, string>> = ${literal(pageFiles())}\n`,
)

// tsc writes the CommonJS files next to this package.json. Without it, Node.js would load them as ES modules.
mkdirSync(join(root, 'dist/cjs'), { recursive: true })
writeFileSync(join(root, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n')

function ofEach(of) {
  return Object.fromEntries(dialects.map((name) => [name, of(name)]))
}

/** Migrations are in the order of the journal. */
function migrations(dialect) {
  return journal(dialect).map(({ tag }) => ({
    tag,
    statements: read(dialect, `${tag}.sql`)
      .split(BREAKPOINT)
      .map((statement) => statement.trim())
      .filter((statement) => statement !== ''),
  }))
}

/** The columns, indexes and CHECKs after the last migration, as recorded by drizzle-kit. */
function parts(dialect) {
  const { idx } = journal(dialect).at(-1)
  const { tables } = JSON.parse(read(dialect, `meta/${String(idx).padStart(4, '0')}_snapshot.json`))
  return Object.values(tables).flatMap(({ name, columns, indexes, checkConstraint, checkConstraints }) => [
    ...Object.keys(columns).map((column) => `column ${name}.${column}`),
    ...Object.keys(indexes).map((index) => `index ${index}`),
    ...Object.keys(checkConstraint ?? checkConstraints).map((check) => `check ${check}`),
  ])
}

function journal(dialect) {
  return JSON.parse(read(dialect, 'meta/_journal.json')).entries
}

function read(dialect, name) {
  return readFileSync(join(root, 'drizzle', dialect, name), 'utf8')
}

/** The files by path; empty if the page was not built. */
function pageFiles() {
  if (!existsSync(page)) return {}
  const names = readdirSync(page, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.(?:html|js|css|svg)$/.test(name))
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(page, name), 'utf8')]))
}

/** Writes only changed files, so that source watchers are not triggered. */
function write(name, content) {
  const file = join(folder, name)
  const whole = `/** Written by scripts/generate.mjs. */\n${content}`
  if (!existsSync(file) || readFileSync(file, 'utf8') !== whole) writeFileSync(file, whole)
}

function literal(value) {
  return JSON.stringify(value, null, 2)
}
