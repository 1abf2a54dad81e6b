/** The application's job table, in both drizzle dialects. Its key is the Kalends job id. */
import { bigint, mysqlTable, text, varchar } from 'drizzle-orm/mysql-core'
import * as sqlite from 'drizzle-orm/sqlite-core'

const STATES = ['new', 'taken', 'done', 'reported'] as const

export const mysqlItem = mysqlTable('work_item', {
  id: varchar('id', { length: 254 }).primaryKey(),
  task: varchar('task', { length: 254 }).notNull(),
  args: text('args').notNull(),
  /** Unix milliseconds. */
  slot: bigint('slot', { mode: 'number' }).notNull(),
  state: varchar('state', { length: 8, enum: STATES }).notNull().default('new'),
  worker: varchar('worker', { length: 190 }),
})

export const sqliteItem = sqlite.sqliteTable('work_item', {
  id: sqlite.text('id').primaryKey(),
  task: sqlite.text('task').notNull(),
  args: sqlite.text('args').notNull(),
  slot: sqlite.integer('slot').notNull(),
  state: sqlite.text('state', { enum: STATES }).notNull().default('new'),
  worker: sqlite.text('worker'),
})

export type WorkItem = typeof sqliteItem.$inferSelect

export const CREATE = `CREATE TABLE IF NOT EXISTS work_item (
  id VARCHAR(254) NOT NULL PRIMARY KEY, task VARCHAR(254) NOT NULL, args TEXT NOT NULL, slot BIGINT NOT NULL,
  state VARCHAR(8) NOT NULL DEFAULT 'new', worker VARCHAR(190))`
