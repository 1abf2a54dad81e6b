import { InvalidInputError } from '../../errors.ts'
import { admitted } from '../admission.ts'
import type { Databases, OpenOptions } from '../database.ts'
import { SqliteDatabase } from './database.ts'

/**
 * @param path  of a file, or `:memory:`
 * @throws InvalidInputError when the path is empty
 * @throws StoreUnavailableError when the file cannot be opened
 */
export async function openSqlite(path: string, { clock = null }: OpenOptions): Promise<Databases> {
  if (path === '')
    throw new InvalidInputError(
      'database',
      'the URL does not name a file; write sqlite:./file.db or sqlite::memory:',
    )
  const loops = await SqliteDatabase.open(path, clock)
  return {
    loops,
    calls: loops.beside('calls'),
    api: admitted(loops.beside('api'), { atOnce: 1 }),
    close: () => loops.close(),
  }
}
