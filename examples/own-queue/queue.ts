/** What the application does with its table of jobs. mysql.ts and sqlite.ts do it with drizzle. */
import type { Job } from 'kalends'
import { openMysql } from './mysql.ts'
import type { WorkItem } from './schema.ts'
import { openSqlite } from './sqlite.ts'

export interface OwnQueue {
  /** @param tx  the connection of the transaction that hands the jobs over */
  insert(jobs: readonly Job[], tx: unknown): Promise<void>
  /** Takes the oldest new item. @returns null when there is none, or another worker was faster */
  take(worker: string): Promise<WorkItem | null>
  /** What a process of this name had taken when it died is new again. */
  release(worker: string): Promise<void>
  set(id: string, state: WorkItem['state']): Promise<void>
  /** The ids of those that are done, but were not reported. */
  done(): Promise<string[]>
  close(): Promise<void>
}

export function openQueue(url: string): Promise<OwnQueue> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openMysql(url)
}

export const itemOf = ({ id, task, args, slot, submittedAt }: Job) => ({
  id,
  task,
  args: JSON.stringify(args),
  slot: (slot ?? submittedAt).getTime(),
})
