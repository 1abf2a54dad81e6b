/** Which tasks go to an external queue. A job gets its queue when it is inserted. */
import { isBuiltIn } from '../../model/task.ts'
import { EVERY_TASK } from '../executing-store.ts'
import type { TablesContext } from './context.ts'
import { placeholders, type Tables } from './tables.ts'

const of = (tables: Tables, task: string) =>
  `(SELECT queue FROM ${tables.taskQueue} WHERE task IN (${task}, '${EVERY_TASK}') ORDER BY task = '${EVERY_TASK}' LIMIT 1)`

/** Expression: the queue of the jobs of a schedule `s`; NULL: Kalends runs them, such as those of built-in tasks. */
export function queueOfSchedule(tables: Tables): string {
  return `(CASE WHEN s.task LIKE 'kalends.%' THEN NULL ELSE ${of(tables, 's.task')} END)`
}

/** Expression: the same for the jobs of a task. */
export function queueOfTask(tables: Tables, task: string): { text: string; params: readonly string[] } {
  return isBuiltIn(task) ? { text: 'NULL', params: [] } : { text: of(tables, '?'), params: [task] }
}

/** Sends the jobs of these tasks, and of no others, to this queue from now on. */
export async function route(context: TablesContext, queue: string, tasks: readonly string[]): Promise<void> {
  await context.transactionOnKeys(async (tx) => {
    const { taskQueue } = tx.tables
    const rows = await tx.rows<{ task: string; queue: string }>(`SELECT task, queue FROM ${taskQueue}`)
    const isRight = (row: { task: string; queue: string }) => row.queue === queue && tasks.includes(row.task)
    const wrong = rows.filter((row) => !isRight(row) && (row.queue === queue || tasks.includes(row.task)))
    const right = new Set(rows.filter(isRight).map(({ task }) => task))
    const missing = tasks.filter((task) => !right.has(task))
    if (wrong.length > 0)
      await tx.run(
        `DELETE FROM ${taskQueue} WHERE task IN (${placeholders(wrong)})`,
        wrong.map(({ task }) => task),
      )
    if (missing.length > 0)
      await tx.run(
        `INSERT INTO ${taskQueue} (task, queue) VALUES ${missing.map(() => '(?, ?)').join(', ')}`,
        missing.flatMap((task) => [task, queue]),
      )
  })
}
