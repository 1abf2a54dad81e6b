/** The statement in docs/databases.md that finds text that the SQLite driver cannot read. */
import { join } from 'node:path'
import Libsql from 'libsql'
import { expect, it } from 'vitest'
import { blocksOf, root } from './markdown.ts'

const VALID = ['61', 'c3a9', 'efbfbd', 'e282ac', 'f09f9880', '61c3a9f09f988062', '']
const INVALID = ['ff', '80', '61ff62', 'c328', 'e282', 'eda080', 'c080', 'f4908080']

it('the statement finds exactly the rows whose text is not UTF-8', () => {
  const [block] = blocksOf(join(root, 'docs/databases.md'), ['sql']).filter(({ flags }) =>
    flags.includes('sqlite'),
  )
  const database = new Libsql(':memory:')
  database.exec('CREATE TABLE job (id TEXT, args TEXT)')
  for (const bytes of [...VALID, ...INVALID])
    database.exec(`INSERT INTO job VALUES ('${bytes}', CAST(x'${bytes}' AS TEXT))`)
  const found = database.prepare(block?.text ?? '').all()
  const names = INVALID.map((bytes) => ({ 'hex(id)': Buffer.from(bytes).toString('hex').toUpperCase() }))
  expect(found).toEqual(names)
  database.close()
})
