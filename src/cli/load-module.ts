/** The application's module: `export default (kalends) => …`, with its handlers and declared schedules. */
import { stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Kalends } from '../kalends.ts'
import { CommandError, EXIT } from './failure.ts'

export type Setup = (kalends: Kalends) => unknown

const EXAMPLE = 'export default (kalends) => { kalends.handle(…); kalends.declare(…) }'

/**
 * @param path  of a file, relative to the current folder
 * @returns the function that sets a Kalends up; what it throws is reported as an error of the module
 * @throws CommandError saying what is wrong with the file
 */
export async function loadModule(path: string): Promise<Setup> {
  const file = resolve(path)
  const found = await stat(file).catch(() => null)
  if (found === null)
    throw new CommandError(`there is no module '${path}' (looked for ${file})`, { exitCode: EXIT.usage })
  if (!found.isFile())
    throw new CommandError(`'${path}' is a folder; name the file of the module`, { exitCode: EXIT.usage })
  const setup = defaultExport(await importFile(path, file))
  if (typeof setup !== 'function') {
    throw new CommandError(
      `the module '${path}' has no function as its default export${setup === undefined ? '' : `, but ${kindOf(setup)}`}; write\n  ${EXAMPLE}`,
    )
  }
  return async (kalends) => {
    try {
      await Reflect.apply(setup, undefined, [kalends])
    } catch (cause) {
      throw new CommandError(`the module '${path}' failed to set Kalends up: ${textOf(cause)}`, { cause })
    }
  }
}

async function importFile(path: string, file: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    if (hasCode(cause, 'ERR_UNKNOWN_FILE_EXTENSION') && /^\.[cm]?ts$/.test(extname(file))) {
      throw new CommandError(
        `this Node (${process.version}) cannot import TypeScript such as '${path}': compile it to JavaScript, or use Node 22.18 or later`,
        { cause },
      )
    }
    throw new CommandError(`the module '${path}' cannot be loaded: ${textOf(cause)}`, { cause })
  }
}

/** CommonJS modules that a compiler has made from ESM carry it one level deeper. */
function defaultExport(module: unknown): unknown {
  const first = propertyOf(module, 'default')
  return typeof first === 'function' ? first : (propertyOf(first, 'default') ?? first)
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function hasCode(error: unknown, code: string): boolean {
  return propertyOf(error, 'code') === code
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function textOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.name === 'Error' || thrown.message === ''
    ? thrown.message || thrown.name
    : `${thrown.name}: ${thrown.message}`
}
