import { tables } from 'kalends/drizzle/mysql'
import { tables as sqliteTables } from 'kalends/drizzle/sqlite'

export const runAt = (row: ReturnType<typeof tables>['job']['$inferSelect']): Date | null => row.runAt
export const retries = (row: ReturnType<typeof sqliteTables>['job']['$inferSelect']): number | null =>
  row.retries
