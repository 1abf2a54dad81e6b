/** The output of `npm run docs:api` in docs/reference, which is generated on demand and not stored in git. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Application, Logger, LogLevel, TSConfigReader, TypeDocReader } from 'typedoc'
import { expect, test } from 'vitest'
import { root } from './markdown.ts'

class CollectingLogger extends Logger {
  readonly problems: string[] = []

  override log(message: string, level: LogLevel): void {
    if (level >= LogLevel.Warn) this.problems.push(message)
  }
}

test('every public declaration has a doc comment, and refers only to public names', async () => {
  const app = await Application.bootstrap({ options: join(root, 'typedoc.json'), plugin: [] }, [
    new TypeDocReader(),
    new TSConfigReader(),
  ])
  const logger = new CollectingLogger()
  app.logger = logger
  const project = await app.convert()
  if (project === undefined) throw new Error(`typedoc cannot read the sources: ${logger.problems.join('\n')}`)
  app.validate(project)
  expect(logger.problems).toEqual([])
})

test('the reference has the entry points of the package', () => {
  const packed: { exports: Record<string, { default?: { default: string } }> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const { entryPoints }: { entryPoints: string[] } = JSON.parse(
    readFileSync(join(root, 'typedoc.json'), 'utf8'),
  )
  const sources = Object.values(packed.exports).flatMap(({ default: built }) =>
    built === undefined ? [] : [built.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')],
  )
  // These interfaces have their own pages: docs/api.md and docs/tables.md.
  const others = ['src/http/index.ts', 'src/drizzle/mysql.ts', 'src/drizzle/sqlite.ts']
  expect(new Set(entryPoints)).toEqual(new Set(sources.filter((file) => !others.includes(file))))
})
