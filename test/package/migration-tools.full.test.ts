/**
 * Migration tools next to Kalends, set up as in docs/guides/beside-migration-tools.md, and set-ups that cannot work.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Kalends, type KalendsOptions, task } from '../../src/index.ts'
import { TABLE_NAMES } from '../../src/store/sql/tables.ts'
import { blocksOf, root } from '../docs/markdown.ts'
import { ended } from '../kalends/scene.ts'
import { databases, eachDatabase, type Row, type TestDatabase } from '../support/databases.ts'

const GUIDE = join(root, 'docs/guides/beside-migration-tools.md')
const PREFIX = 'kalends_'
/** Allows time for npm installs and for one process per tool command. */
const LONGEST_MS = 300_000

const servers = databases.filter(({ kind }) => kind !== 'sqlite')

const mail = task('mail')
const runFile = promisify(execFile)

/** The guide's code block that contains all these strings. */
function ofGuide(language: string, ...texts: readonly string[]): string {
  const [block, ...others] = blocksOf(GUIDE, [language]).filter(({ text }) =>
    texts.every((part) => text.includes(part)),
  )
  if (block === undefined || others.length > 0)
    throw new Error(`The guide needs exactly one block with ${texts.join(', ')}`)
  return block.text
}

/**
 * Defines hooks that install packages for a `describe`. @returns a function that creates an application with these
 * packages
 */
function withPackages(...packages: readonly string[]) {
  let installed = ''
  beforeAll(async () => {
    installed = await mkdtemp(join(tmpdir(), 'kalends-tools-'))
    await writeFile(join(installed, 'package.json'), '{ "name": "app", "private": true, "type": "module" }')
    // Without scripts, because Prisma's scripts would download unused files.
    const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent']
    await runFile('npm', ['install', ...options, ...packages], { cwd: installed })
  }, LONGEST_MS)
  afterAll(() => rm(installed, { recursive: true, force: true }))
  return async (files: Readonly<Record<string, string>>) => {
    const folder = await mkdtemp(join(installed, 'app-'))
    const write = async (file: string, text: string) => {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), text)
    }
    for (const [file, text] of Object.entries(files)) await write(file, text)
    return {
      write,
      read: (file: string) => readFile(join(folder, file), 'utf8'),
      /** All files of a folder tree as one string. */
      readAll: async (below: string) => {
        const found = await readdir(join(folder, below), { recursive: true, withFileTypes: true })
        const texts = found
          .filter((entry) => entry.isFile())
          .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8'))
        return (await Promise.all(texts)).join('\n')
      },
      /** Runs a program of node_modules or of the application, without a terminal, so that it cannot ask questions. */
      run: (program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
        new Promise<{ readonly code: number | null; readonly output: string }>((resolve) => {
          const env = { ...process.env, ...environment }
          const file = program.startsWith('.')
            ? join(folder, program)
            : join(installed, 'node_modules', program)
          const child = execFile(
            process.execPath,
            [file, ...args],
            { cwd: folder, env },
            (_, stdout, stderr) => resolve({ code: child.exitCode, output: `${stdout}${stderr}` }),
          )
          child.stdin?.end()
        }),
    }
  }
}

/** The location of Kalends' tables, and the options with which the application uses them. */
interface Place {
  readonly database: TestDatabase
  readonly options: Pick<KalendsOptions, 'tablePrefix' | 'schema'>
}

function nameOf({ url }: TestDatabase): string {
  return new URL(url).pathname.slice(1)
}

async function emptyDatabase({
  bare,
}: {
  readonly bare: () => Promise<TestDatabase>
}): Promise<TestDatabase> {
  const database = await bare()
  onTestFinished(() => database.drop())
  return database
}

/** As in the guide: with a prefix in a SQLite file, or in a separate database on a server. */
function asInTheGuide(database: TestDatabase): Place {
  if (database.kind === 'sqlite') return { database, options: { tablePrefix: PREFIX } }
  return { database, options: { schema: ownSchema(database) } }
}

/** Returns a name for `schema`; the database is dropped when the test ends. */
function ownSchema(database: TestDatabase): string {
  const schema = `${nameOf(database)}_own`
  onTestFinished(async () => {
    await database.query(`DROP DATABASE IF EXISTS \`${schema}\``)
  })
  return schema
}

async function open({ database, options }: Place): Promise<Kalends> {
  const kalends = await Kalends.open(database.url, { ...options, retention: false })
  onTestFinished(() => kalends.stop({ grace: 0 }))
  return kalends
}

/** Creates the tables, a schedule and a job. No worker is running that could change the rows. */
async function seed(place: Place): Promise<void> {
  const kalends = await open(place)
  await kalends.schedules.create({ id: 'daily', task: mail, timer: 'daily', args: { to: 'x' } })
  await kalends.jobs.submit(mail, { to: 'y' })
  await kalends.stop()
}

/** The definitions of the tables, with their indexes and CHECKs, and all rows. */
async function stateOf({ database, options }: Place): Promise<{ definitions: Row[]; rows: Row[][] }> {
  const { tablePrefix = '', schema } = options
  const names = [...TABLE_NAMES, 'kalends_migration'].map((name) => `${tablePrefix}${name}`)
  const definitions: Row[] = []
  const rows: Row[][] = []
  for (const name of names) {
    const table = schema === undefined ? name : `\`${schema}\`.\`${name}\``
    const definition =
      database.kind === 'sqlite'
        ? await database.query('SELECT type, name, sql FROM sqlite_master WHERE tbl_name = ? ORDER BY name', [
            name,
          ])
        : await database.query(`SHOW CREATE TABLE ${table}`)
    definitions.push(...definition)
    rows.push(await database.query(`SELECT * FROM ${table}`))
  }
  expect(definitions.length).toBeGreaterThanOrEqual(names.length)
  expect(rows.slice(0, 2).map(({ length }) => length)).toEqual([1, 1])
  return { definitions, rows }
}

/** Checks that the seeded schedule runs and that doctor finds no problem. */
async function expectItWorks(place: Place): Promise<void> {
  const kalends = await open(place)
  kalends.handle(mail, () => 'sent')
  await kalends.start()
  const job = await ended(kalends, await kalends.schedules.runNow('daily'))
  expect(job).toMatchObject({ state: 'success', result: 'sent' })
  expect(await kalends.doctor()).toEqual([])
}

async function tablesIn({ kind, query }: TestDatabase): Promise<string[]> {
  const rows = await query(
    kind === 'sqlite'
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
      : 'SHOW TABLES',
  )
  return rows.map((row) => String(Object.values(row)[0]))
}

async function columnsOfOrders({ kind, query }: TestDatabase): Promise<string[]> {
  const rows = await query(
    kind === 'sqlite' ? "SELECT name FROM pragma_table_info('orders')" : 'SHOW COLUMNS FROM orders',
  )
  return rows.map((row) => String(Object.values(row)[0]))
}

describe('drizzle-kit', () => {
  const application = withPackages(
    'drizzle-kit@0.31.11',
    'drizzle-orm@0.45.4',
    'mysql2@^3.24.5',
    '@libsql/client@^0.18.0',
  )

  const schemaOf = (kind: TestDatabase['kind'], more = '') =>
    kind === 'sqlite'
      ? `import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
         export const orders = sqliteTable('orders', { id: integer().primaryKey(), ${more && 'more: text()'} })`
      : `import { int, mysqlTable, text } from 'drizzle-orm/mysql-core'
         export const orders = mysqlTable('orders', { id: int().primaryKey(), ${more && 'more: text()'} })`

  /** The configuration from the guide, for this database. */
  const configOf = ({ kind, url }: TestDatabase) => {
    const dialect = kind === 'sqlite' ? 'sqlite' : 'mysql'
    return ofGuide('ts', '// drizzle.config.ts', `dialect: '${dialect}'`).replace(
      /url: '.*'/,
      `url: '${url.replace(/^sqlite:/, 'file:')}'`,
    )
  }

  /** Uses `filter` instead of the guide's `tablesFilter`, or no filter if it is empty. */
  const withFilter = (config: string, filter: string) =>
    config
      .replace(/^ *tablesFilter: .*\n/m, '')
      .replace(/^ *out: /m, (out) => `${filter === '' ? '' : `tablesFilter: ['${filter}'],`}\n${out}`)

  const KIT = 'drizzle-kit/bin.cjs'

  eachDatabase((under) => {
    it(
      "push, pull, generate and migrate do not change Kalends' tables or rows [E2, L62]",
      async () => {
        const database = await emptyDatabase(under)
        const place = asInTheGuide(database)
        await seed(place)
        const before = await stateOf(place)
        const app = await application({
          'schema.ts': schemaOf(database.kind),
          'drizzle.config.ts': configOf(database),
        })
        await app.run(KIT, ['push', '--force'])
        expect(await columnsOfOrders(database)).toEqual(['id'])
        // On MariaDB, drizzle-kit cannot push to an existing table, with or without Kalends.
        if (database.kind !== 'mariadb') {
          await app.write('schema.ts', schemaOf(database.kind, 'more'))
          await app.run(KIT, ['push', '--force'])
          expect(await columnsOfOrders(database)).toEqual(['id', 'more'])
        }
        expect(await stateOf(place)).toEqual(before)

        expect(await app.run(KIT, ['pull'])).toMatchObject({ code: 0 })
        const pulled = await app.readAll('drizzle')
        expect(pulled).toContain('orders')
        expect(pulled).not.toMatch(/periodic_task|job|kalends/)

        await app.write('drizzle.config.ts', configOf(database).replace("'./drizzle'", "'./generated'"))
        expect(await app.run(KIT, ['generate'])).toMatchObject({ code: 0 })
        const generated = await app.readAll('generated')
        expect(generated).toContain('CREATE TABLE `orders`')
        expect(generated).not.toMatch(/periodic_task|job|kalends/)

        await database.query('DROP TABLE orders')
        expect(await app.run(KIT, ['migrate'])).toMatchObject({ code: 0 })
        expect(await tablesIn(database)).toContain('orders')
        expect(await stateOf(place)).toEqual(before)
        await expectItWorks(place)
      },
      LONGEST_MS,
    )

    it(
      'without the set-up from the guide, push drops the tables, except on MariaDB, where it fails',
      async () => {
        const database = await emptyDatabase(under)
        const place = { database, options: { tablePrefix: PREFIX } }
        await seed(place)
        const before = await stateOf(place)
        await database.query('CREATE TABLE orders (id integer PRIMARY KEY NOT NULL)')
        const app = await application({
          'schema.ts': schemaOf(database.kind),
          'drizzle.config.ts': withFilter(configOf(database), ''),
        })
        const { code } = await app.run(KIT, ['push', '--force'])
        if (database.kind === 'mariadb') {
          expect(code).toBe(1)
          expect(await stateOf(place)).toEqual(before)
        } else expect(await tablesIn(database)).toEqual(['orders'])
      },
      LONGEST_MS,
    )

    if (under.kind === 'sqlite')
      it(
        'without a prefix, a tablesFilter with the names from the guide works',
        async () => {
          const database = await emptyDatabase(under)
          const place = { database, options: {} }
          await seed(place)
          const before = await stateOf(place)
          const [, names = ''] =
            /Without a prefix, name the tables: `\['([^`]*)'\]`/.exec(
              (await readFile(GUIDE, 'utf8')).replaceAll(/\s+/g, ' '),
            ) ?? []
          const app = await application({
            'schema.ts': schemaOf(database.kind),
            'drizzle.config.ts': withFilter(configOf(database), names),
          })
          await app.run(KIT, ['push', '--force'])
          expect(await tablesIn(database)).toContain('orders')
          expect(await stateOf(place)).toEqual(before)
        },
        LONGEST_MS,
      )
    else
      it(
        'tablesFilter does not work: push and pull end with exit code 1 and change nothing',
        async () => {
          const database = await emptyDatabase(under)
          const place = { database, options: { tablePrefix: PREFIX } }
          await seed(place)
          const before = await stateOf(place)
          const app = await application({
            'schema.ts': schemaOf(database.kind),
            'drizzle.config.ts': withFilter(configOf(database), `!${PREFIX}*`),
          })
          expect(await app.run(KIT, ['push', '--force'])).toMatchObject({ code: 1 })
          expect(await app.run(KIT, ['pull'])).toMatchObject({ code: 1 })
          expect(await tablesIn(database)).not.toContain('orders')
          expect(await stateOf(place)).toEqual(before)
        },
        LONGEST_MS,
      )
  })
})

for (const under of servers)
  describe(`the schema option on ${under.kind}`, () => {
    it("the guide's statements move the tables into a separate database", async () => {
      const database = await emptyDatabase(under)
      await seed({ database, options: {} })
      const before = await stateOf({ database, options: {} })
      const schema = ownSchema(database)
      const statements = ofGuide('sql', 'RENAME TABLE')
        .replaceAll(/\bapp\./g, `${nameOf(database)}.`)
        .replaceAll(/\bkalends(?=[.;])/g, schema)
      for (const statement of statements.split(';\n').filter((text) => text.trim() !== ''))
        await database.query(statement)
      expect(await tablesIn(database)).toEqual([])
      const place = { database, options: { schema } }
      expect(await stateOf(place)).toEqual(before)
      await expectItWorks(place)
    })
  })

for (const under of databases.filter(({ kind }) => kind === 'sqlite'))
  describe('Prisma on sqlite', () => {
    // The last version whose command line needs no engine from outside npm.
    const version = '6.19.3'
    const application = withPackages(
      `prisma@${version}`,
      `@prisma/client@${version}`,
      `@prisma/adapter-libsql@${version}`,
    )

    const schemaWith = (more = '') => `
      generator client {
        provider = "prisma-client"
        output = "./client"
      }
      datasource db {
        provider = "sqlite"
        url = "file:unused.db"
      }
      model orders {
        id Int @id
        ${more}
      }`

    /** The application from the guide with its first migration, but without the engine. */
    async function prisma({ url }: TestDatabase) {
      const app = await application({
        // Prisma requires its engine files to exist, but does not use them.
        engine: '',
        'guide.js': ofGuide('js', '// prisma.config.ts'),
        'prisma.config.ts': `
          import { PrismaLibSQL } from '@prisma/adapter-libsql'
          import { defineConfig } from 'prisma/config'
          import guide from './guide.js'

          // The engine leaves a one-minute timer behind, which would delay the end of the process.
          const start = globalThis.setTimeout
          globalThis.setTimeout = ((callback, ms, ...args) => {
            const timer = start(callback, ms, ...args)
            return ms >= 60_000 ? timer.unref() : timer
          }) as never

          export default defineConfig({
            schema: guide.schema,
            experimental: { externalTables: guide.experimental.externalTables, adapter: true },
            tables: process.env.WITHOUT_TABLES ? undefined : guide.tables,
            engine: 'js',
            adapter: async () => new PrismaLibSQL({ url: '${url.replace(/^sqlite:/, 'file:')}' }),
          })`,
        'prisma/schema.prisma': schemaWith(),
        'prisma/migrations/migration_lock.toml': 'provider = "sqlite"',
        'prisma/migrations/1_first/migration.sql':
          'CREATE TABLE "orders" ("id" INTEGER NOT NULL PRIMARY KEY);',
      })
      const environment = {
        CHECKPOINT_DISABLE: '1',
        PRISMA_QUERY_ENGINE_LIBRARY: 'engine',
        PRISMA_SCHEMA_ENGINE_BINARY: 'engine',
      }
      return {
        ...app,
        command: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
          app.run('prisma/build/index.js', args, { ...environment, ...more }),
      }
    }

    it(
      "migrate dev, db pull and db push do not change Kalends' tables or rows",
      async () => {
        const database = await emptyDatabase(under)
        const place = asInTheGuide(database)
        const app = await prisma(database)
        expect(await app.command(['migrate', 'deploy'])).toMatchObject({ code: 0 })
        await seed(place)
        const before = await stateOf(place)

        await app.write('prisma/schema.prisma', schemaWith('more String?'))
        const dev = ['migrate', 'dev', '--skip-generate', '--name']
        expect(await app.command([...dev, 'second'])).toMatchObject({ code: 0 })
        expect(await columnsOfOrders(database)).toEqual(['id', 'more'])
        const migrations = await app.readAll('prisma/migrations')
        expect(migrations).toContain('ADD COLUMN "more"')
        expect(migrations).not.toContain(PREFIX)

        expect(await app.command(['db', 'pull'])).toMatchObject({ code: 0 })
        const pulled = await app.read('prisma/schema.prisma')
        expect(pulled).toContain(`model ${PREFIX}job {`)
        // With the pulled models.
        expect((await app.command([...dev, 'third'])).output).toContain('Already in sync')
        await app.write('prisma/schema.prisma', schemaWith('more String? \n another String?'))
        expect(await app.command(['db', 'push', '--skip-generate'])).toMatchObject({ code: 0 })
        expect(await columnsOfOrders(database)).toEqual(['id', 'more', 'another'])
        expect(await stateOf(place)).toEqual(before)
        await expectItWorks(place)
      },
      LONGEST_MS,
    )

    it(
      'without tables.external, migrate dev asks to reset the database, and db push asks to drop the tables',
      async () => {
        const database = await emptyDatabase(under)
        const place = asInTheGuide(database)
        const app = await prisma(database)
        await app.command(['migrate', 'deploy'])
        await seed(place)
        const without = { WITHOUT_TABLES: '1' }
        const dev = await app.command(['migrate', 'dev', '--skip-generate', '--name', 'second'], without)
        expect(dev.code).not.toBe(0)
        expect(dev.output).toContain('All data will be lost')
        const push = await app.command(['db', 'push', '--skip-generate'], without)
        expect(push.code).not.toBe(0)
        expect(push.output).toContain(`You are about to drop the \`${PREFIX}job\` table`)
      },
      LONGEST_MS,
    )

    it(
      "migrate deploy in a database that contains only Kalends' tables fails with P3005",
      async () => {
        const database = await emptyDatabase(under)
        await seed(asInTheGuide(database))
        const deploy = await (await prisma(database)).command(['migrate', 'deploy'])
        expect(deploy.output).toContain('P3005')
      },
      LONGEST_MS,
    )
  })

for (const under of servers)
  describe(`TypeORM on ${under.kind}`, () => {
    const application = withPackages('typeorm@1.1.1', 'reflect-metadata@^0.2.2', 'mysql2@^3.24.5')

    it(
      "synchronize and migration:generate do not change Kalends' tables",
      async () => {
        const database = await emptyDatabase(under)
        const place = { database, options: {} }
        await seed(place)
        const before = await stateOf(place)
        const source = (columns: string) => `
          import 'reflect-metadata'
          import { DataSource, EntitySchema } from 'typeorm'
          const orders = new EntitySchema({ name: 'orders', columns: { id: { type: Number, primary: true }, ${columns} } })
          export const source = new DataSource({ type: '${under.kind}', url: '${database.url}', entities: [orders] })`
        const app = await application({
          'source.js': source(''),
          'synchronize.js':
            "import { source } from './source.js'\nawait source.initialize(); await source.synchronize(); await source.destroy()",
        })
        expect(await app.run('./synchronize.js', [])).toEqual({ code: 0, output: '' })
        const more = "more: { type: 'varchar', nullable: true }"
        await app.write('source.js', source(more))
        const generate = ['migration:generate', '--outputJs', '--esm', '-d', 'source.js', 'migrations/more']
        expect(await app.run('typeorm/cli.js', generate)).toMatchObject({ code: 0 })
        const generated = await app.readAll('migrations')
        expect(generated).toContain('ADD \\`more\\`')
        expect(generated).not.toMatch(/periodic_task|job|kalends/)
        expect(await app.run('./synchronize.js', [])).toEqual({ code: 0, output: '' })
        expect(await columnsOfOrders(database)).toEqual(['id', 'more'])
        expect(await stateOf(place)).toEqual(before)
        await expectItWorks(place)
      },
      LONGEST_MS,
    )
  })
