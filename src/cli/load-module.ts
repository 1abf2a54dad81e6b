import { stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Kalends } from '../kalends.ts'
import { CommandError, EXIT, hasCode, UsageError } from './failure.ts'

const EXAMPLE = 'export default (kalends) => { kalends.handle(…); kalends.declare(…) }'

/** @throws CommandError; the returned function throws it too */
export async function loadModule(path: string): Promise<(kalends: Kalends) => Promise<void>> {
  const file = resolve(path)
  const found = await stat(file).catch(() => null)
  if (found === null) throw new UsageError(`the module '${path}' does not exist (looked for ${file})`)
  if (!found.isFile()) throw new UsageError(`'${path}' is a folder; name the file of the module`)
  const setup = defaultExport(await importFile(path, file))
  if (typeof setup !== 'function') {
    const instead =
      setup === undefined ? '' : `, got ${setup === null ? 'null' : `a value of type ${typeof setup}`}`
    throw new CommandError(
      `the module '${path}' must have a function as its default export${instead}; write\n  ${EXAMPLE}`,
    )
  }
  return async (kalends) => {
    try {
      await Reflect.apply(setup, undefined, [kalends])
    } catch (cause) {
      throw new CommandError(`the module '${path}' failed to set up Kalends: ${textOf(cause)}`, EXIT.failed, {
        cause,
      })
    }
  }
}

async function importFile(path: string, file: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    const message =
      hasCode(cause, 'ERR_UNKNOWN_FILE_EXTENSION') && /^\.[cm]?ts$/.test(extname(file))
        ? `this Node (${process.version}) cannot import TypeScript such as '${path}': compile it to JavaScript, or use Node 22.18 or later`
        : `the module '${path}' cannot be loaded: ${textOf(cause)}`
    throw new CommandError(message, EXIT.failed, { cause })
  }
}

/** In CommonJS modules compiled from ESM, the default export is one level deeper. */
function defaultExport(module: unknown): unknown {
  const first = defaultOf(module)
  return typeof first === 'function' ? first : (defaultOf(first) ?? first)
}

function defaultOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, 'default') : undefined
}

/** Omits the name of a plain Error, because it adds nothing. */
function textOf(thrown: unknown): string {
  return String(thrown).replace(/^Error: /, '')
}
