import { InvalidInputError } from '../../errors.ts'
import { admittedForApi } from '../admission.ts'
import type { Databases, OpenOptions } from '../database.ts'
import { SqliteDatabase } from './database.ts'

/**
 * @param url  `sqlite:./file.db` or `sqlite::memory:`
 * @throws InvalidInputError when the URL does not name a file
 * @throws StoreUnavailableError when the file cannot be opened
 */
export async function openSqlite(url: string, { clock = null }: OpenOptions): Promise<Databases> {
  const path = url.slice('sqlite:'.length).replace(/^\/\//, '')
  if (path === '')
    throw new InvalidInputError(
      'database',
      'the URL names no file; write sqlite:./file.db or sqlite::memory:',
    )
  const loops = await SqliteDatabase.open(path, clock)
  return {
    loops,
    calls: loops.beside('calls'),
    api: admittedForApi(loops.beside('api'), 1),
    close: () => loops.close(),
  }
}
