import { expect, it } from 'vitest'
import { eachDatabase } from './databases.ts'
import { hasMariadbClient, mariadbClient } from './mariadb-client.ts'

const hasClient = await hasMariadbClient()

eachDatabase(({ kind, bare }) => {
  it.skipIf(kind === 'sqlite' || !hasClient)(
    'accepts SQL that an administrator types into the command-line client',
    async () => {
      const database = await bare()
      await database.query('CREATE TABLE t (a INT, b TEXT)')

      expect(await mariadbClient(database, `INSERT INTO t VALUES (1, 'äöü'), (2, NULL)`)).toBe('')
      expect(await mariadbClient(database, 'SELECT * FROM t ORDER BY a')).toBe('1\täöü\n2\tNULL\n')
      await expect(mariadbClient(database, 'SELECT x FROM t')).rejects.toThrow(/Unknown column 'x'/)
      await database.drop()
    },
  )
})
