/** Executes an administrator's statements and writes them to the journal. */
import { databaseNow } from '../dates.ts'
import type { Ground } from '../fault.ts'
import type { EditEntry, RowText } from '../record.ts'

export type Columns = Readonly<Record<string, string | number | null>>
export type Table = EditEntry['table']

type Query = Ground['target']['query']

/** The effect of a statement. */
export interface Edited {
  readonly before: RowText | null
  readonly row: RowText | null
}

interface Statement {
  readonly table: Table
  /** The id of the edited row; for a renamed schedule, the old id. */
  readonly id: string
  /** Returns what it wrote; null if it did nothing, for example because the row no longer exists. */
  readonly run: (query: Query, before: RowText | null) => Promise<Columns | 'delete' | null>
  /** The id of a second row that the statement creates. */
  readonly becomes?: string
}

/** UPDATE; does nothing if the row no longer exists. The columns may depend on the current row. */
export function update(
  ground: Ground,
  table: Table,
  id: string,
  columns: Columns | ((row: RowText) => Columns | null),
): Promise<Edited> {
  return edit(ground, {
    table,
    id,
    async run(query, before) {
      const wanted = before === null ? null : typeof columns === 'function' ? columns(before) : columns
      if (wanted === null || Object.keys(wanted).length === 0) return null
      const names = Object.keys(wanted)
      await query(`UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`, [
        ...Object.values(wanted),
        id,
      ])
      return wanted
    },
  })
}

export function remove(ground: Ground, table: Table, id: string): Promise<Edited> {
  return edit(ground, {
    table,
    id,
    async run(query, before) {
      if (before === null) return null
      await query(`DELETE FROM ${table} WHERE id = ?`, [id])
      return 'delete'
    },
  })
}

/** INSERT; does nothing if the row already exists. */
export function insert(ground: Ground, table: Table, id: string, columns: Columns): Promise<Edited> {
  return edit(ground, {
    table,
    id,
    async run(query, before) {
      if (before !== null) return null
      const row = { id, ...columns }
      await query(
        `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row)
          .map(() => '?')
          .join(', ')})`,
        Object.values(row),
      )
      return columns
    },
  })
}

/** Changes the id of a schedule. The journal records it as a deletion and an insertion. */
export function rename(ground: Ground, from: string, to: string): Promise<Edited> {
  return edit(ground, {
    table: 'periodic_task',
    id: from,
    becomes: to,
    async run(query, before) {
      if (before === null || (await rowOf(ground, query, 'periodic_task', to)) !== null) return null
      await query('UPDATE periodic_task SET id = ? WHERE id = ?', [to, from])
      return { id: to }
    },
  })
}

async function edit(ground: Ground, { table, id, run, becomes }: Statement): Promise<Edited> {
  const { target, journal } = ground
  let from = Number.POSITIVE_INFINITY
  let tries = 0
  const done = await target.transaction(async (query) => {
    tries += 1
    from = Math.min(from, await databaseNow(target, query))
    const before = await rowOf(ground, query, table, id)
    const newest = table === 'periodic_task' ? await newestJob(query, id) : null
    const columns = await run(query, before)
    return {
      columns,
      before,
      newest,
      row: await rowOf(ground, query, table, id),
      other: becomes === undefined ? null : await rowOf(ground, query, table, becomes),
    }
  })
  const { columns, before, row, newest, other } = done
  if (columns === null) return { before, row }
  const until = await databaseNow(target, target.query)
  const common = {
    kind: 'edit',
    table,
    from,
    until,
    ...(tries > 1 && { tries }),
  } as const
  if (becomes === undefined || columns === 'delete') {
    journal.write({ ...common, id, columns, before, row, ...(table === 'periodic_task' && { newest }) })
  } else {
    journal.write({ ...common, id, columns: 'delete', before, row: null, newest })
    journal.write({ ...common, id: becomes, columns, before: null, row: other, newest: null })
  }
  return { before, row: becomes === undefined ? row : other }
}

async function rowOf(
  { target }: Pick<Ground, 'target'>,
  query: Query,
  table: Table,
  id: string,
): Promise<RowText | null> {
  // Locked until the transaction ends, so that the statement changes the row that was read.
  const lock = target.kind === 'sqlite' ? '' : ' FOR UPDATE'
  const [row] = await query(`SELECT * FROM ${table} WHERE id = ?${lock}`, [id])
  return row ?? null
}

async function newestJob(query: Query, schedule: string): Promise<RowText | null> {
  const [row] = await query('SELECT * FROM job WHERE periodic_task_id = ? ORDER BY slot DESC LIMIT 1', [
    schedule,
  ])
  return row ?? null
}
