/** Setup for every test file of `npm run mutation:sql`: records or changes the statements of the SQLite store. */
import { appendFileSync, writeFileSync } from 'node:fs'
import Libsql from 'libsql'
import { expect, inject } from 'vitest'
import { changed, changesOf, partsOf, shapeOf, together } from './sql-changes.ts'

declare module 'vitest' {
  interface ProvidedContext {
    sqlMutation: {
      /** The file for the recorded changes; null to record nothing. */
      readonly notes: string | null
      /** The key of the change to apply, or null. */
      readonly made: string | null
      /** The file to which this process writes its id, so that it can be killed if a statement never ends. */
      readonly process: string
    }
  }
}

const { notes, made, process: pidFile } = inject('sqlMutation')
writeFileSync(pidFile, String(process.pid))
const noted = new Set<string>()

/** Whether the store is the caller. Tests also use their own connections, whose statements stay unchanged. */
const isOfStore = () => new Error('the caller').stack?.includes('/src/store/') === true

// oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
const { prepare } = Libsql.prototype
// All files of a run share a process, and this code runs for each of them.
if (prepare.name !== 'prepareChanged')
  Reflect.set(Libsql.prototype, 'prepare', function prepareChanged(this: Libsql.Database, text: string) {
    if (!isOfStore()) return prepare.call(this, text)
    const parts = partsOf(text)
    const test = expect.getState().testPath
    if (notes !== null)
      for (const [index, part] of parts.entries())
        for (const change of changesOf(part)) {
          if (noted.has(`${test} ${change.key}`)) continue
          noted.add(`${test} ${change.key}`)
          if (isValid(this, parts.with(index, changed(part, change))))
            appendFileSync(
              notes,
              `${JSON.stringify({ file: test, key: change.key, statement: shapeOf(part) })}\n`,
            )
        }
    const now = parts.map((part) => {
      const change = made === null ? undefined : changesOf(part).find(({ key }) => key === made)
      return change === undefined ? part : changed(part, change)
    })
    return prepare.call(this, together(now))
  })

/** Whether the database can parse the statement. */
function isValid(database: Libsql.Database, parts: readonly string[]): boolean {
  try {
    prepare.call(database, together(parts))
    return true
  } catch {
    return false
  }
}
