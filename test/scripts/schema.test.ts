/** How scripts/schema.ts changes the migrations that drizzle-kit generates. */
import Database from 'libsql'
import { expect, it } from 'vitest'
import { withStoredColumns } from '../../scripts/schema.ts'

type Columns = Record<string, { readonly name: string; readonly generated?: object | undefined }>
const column = (name: string, generated?: object): Columns => ({ [name]: { name, generated } })
const snapshot = (columns: Columns) => ({ tables: { t: { columns } } })

it('a copied table keeps its rows, and new columns get their defaults', () => {
  const database = new Database(':memory:')
  database.exec('CREATE TABLE t (id text, half text GENERATED ALWAYS AS (substr(id, 2)), gone text)')
  database.exec("INSERT INTO t (id, gone) VALUES ('ab', 'old')")
  const own = { ...column('id'), ...column('half', { as: '(substr(id, 2))', type: 'virtual' }) }
  const migration = [
    "CREATE TABLE `__new_t` (`id` text CHECK (`id` <> ''), `half` text GENERATED ALWAYS AS (substr(id, 2)), `link` text DEFAULT 'none');",
    'INSERT INTO `__new_t`("id", "half", "link") SELECT "id", "half", "link" FROM `t`;--> statement-breakpoint',
    'DROP TABLE `t`;',
    'ALTER TABLE `__new_t` RENAME TO `t`;',
  ].join('\n')
  const corrected = withStoredColumns(
    migration,
    snapshot({ ...own, ...column('gone') }),
    snapshot({ ...own, ...column('link') }),
  )
  database.exec(corrected.replaceAll('--> statement-breakpoint', ''))
  expect(database.prepare('SELECT * FROM t').all()).toEqual([{ id: 'ab', half: 'b', link: 'none' }])
  database.close()
})
