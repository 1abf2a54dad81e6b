/** A commit is on disk when it returns, regardless of the `synchronous` default of the driver's build. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Driver from 'libsql'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'

const FULL = 2

vi.mock('libsql', async (original) => {
  const { default: Libsql } = await original<{ readonly default: typeof Driver }>()
  return {
    /** Behaves like a build with SQLITE_DEFAULT_WAL_SYNCHRONOUS=1. */
    default: class extends Libsql {
      constructor(path: string) {
        super(path)
        this.exec('PRAGMA synchronous = NORMAL')
      }
    },
  }
})

it("with a driver whose default is NORMAL, Kalends' connections sync each commit", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-durability-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = await SqliteDatabase.open(join(folder, 'app.db'))
  onTestFinished(() => database.close())
  expect(await database.rows('PRAGMA synchronous')).toEqual([{ synchronous: FULL }])
  expect(await database.rows('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }])
})
