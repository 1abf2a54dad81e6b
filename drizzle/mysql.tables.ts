/** The tables for drizzle-kit: `npm run schema` generates the migrations in drizzle/mysql from them. */
import { tables } from '../src/drizzle/mysql.ts'

export const { periodicTask, job, attempt, jobLog, worker, declaredSet, scheduleFreeze, taskQueue } = tables({
  prefix: '{prefix}',
})
