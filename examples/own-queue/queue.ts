/** The operations on the application's job table. mysql.ts and sqlite.ts implement them with drizzle. */
import type { Job } from 'kalends'
import { openMysql } from './mysql.ts'
import type { WorkItem } from './schema.ts'
import { openSqlite } from './sqlite.ts'

export interface OwnQueue {
  /** @param tx  the connection of the hand-over transaction */
  insert(jobs: readonly Job[], tx: unknown): Promise<void>
  /** Takes the oldest new item. @returns null if none is available */
  take(worker: string): Promise<WorkItem | null>
  /** Resets to `new` the items that a dead process with this name had taken. */
  release(worker: string): Promise<void>
  set(id: string, state: WorkItem['state']): Promise<void>
  /** The ids of items that are done but not reported. */
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
