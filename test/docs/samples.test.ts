/**
 * Runs the samples marked `ts run` and compares their output with their comments. Samples that wait for schedules use
 * the clock of kalends/testing.
 */
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { format } from 'node:util'
import ts from 'typescript'
import { expect, test } from 'vitest'
import * as zod from 'zod'
import * as calendar from '../../src/calendar/index.ts'
import * as kalends from '../../src/index.ts'
import * as opentelemetry from '../../src/telemetry/opentelemetry.ts'
import * as prometheus from '../../src/telemetry/prometheus.ts'
import * as testing from '../../src/testing/index.ts'
import * as timer from '../../src/timer/index.ts'
import { blocksOf, pages } from './markdown.ts'

const modules: Readonly<Record<string, object>> = {
  kalends,
  'kalends/calendar': calendar,
  'kalends/opentelemetry': opentelemetry,
  'kalends/prometheus': prometheus,
  'kalends/testing': testing,
  'kalends/timer': timer,
  'node:fs': fs,
  'node:os': os,
  'node:path': path,
  zod,
}

const samples = pages()
  .flatMap((page) => blocksOf(page, ['ts']))
  .filter(({ flags }) => flags.includes('run'))

/** The comments after `console.log(…)`, in order. */
function promised(text: string): string[] {
  return [...text.matchAll(/^\s*console\.log\(.*\) \/\/ (.*)$/gm)].map(([, said = '']) => said)
}

function found(name: string): object {
  const module = modules[name]
  if (module === undefined) throw new Error(`the samples cannot import '${name}'`)
  return module
}

/** Runs a sample. @returns its output */
async function run(text: string): Promise<string[]> {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      esModuleInterop: true,
    },
  })
  const logged: string[] = []
  const log = (...values: unknown[]) => void logged.push(format(...values))
  // These samples come from our own pages, and their types are checked elsewhere.
  // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call, no-new-func
  await new Function('require', 'exports', 'console', `return (async () => {${outputText}\n})()`)(
    found,
    {},
    { log, warn: log, error: log },
  )
  return logged
}

test('there are samples to run', () => {
  expect(samples.length).toBeGreaterThan(10)
})

test.each(samples)('$at works as documented [D7]', async ({ text }) => {
  expect(await run(text)).toEqual(promised(text))
})
