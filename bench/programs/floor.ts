/**
 * The minimum work that the database must do for a burst: the same job rows by bulk INSERT and the same schedules by
 * UPDATE, in the same batches, with one transaction each, but without marks, planning or queries.
 */
import { randomUUID } from 'node:crypto'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), batch: z.number(), rounds: z.number() })

await program(params, async ({ url, batch, rounds }, line) => {
  const connection = await createConnection({ uri: url, timezone: 'Z' })
  const [rows] = await connection.query<RowDataPacket[]>('SELECT id FROM periodic_task ORDER BY id')
  const ids = rows.map((row) => String(row['id']))
  for (let round = 0; round < rounds; round += 1) await line.measure(write)
  await connection.end()

  async function write(): Promise<void> {
    const slot = new Date()
    const next = new Date(slot.getTime() + 3_600_000)
    for (let from = 0; from < ids.length; from += batch) {
      const some = ids.slice(from, from + batch)
      await connection.beginTransaction()
      await connection.query(
        'INSERT INTO job (id, periodic_task_id, periodic_task_uid, slot, run, task, group_, args, priority, exclusive, submitted) VALUES ?',
        [some.map((id) => [randomUUID(), id, id, slot, 1, 'noop', '', '{}', 0, 0, slot])],
      )
      await connection.query(
        'UPDATE periodic_task SET nextrun = ?, last_slot = ?, planned_from = ?, planned_nextrun = ?, planned_by_hand = 0 WHERE id IN (?)',
        // Write the same values as the planner; otherwise, the measured worker would plan these rows.
        [next, slot, '1|hourly|0|||', next, some],
      )
      await connection.commit()
    }
  }
})
