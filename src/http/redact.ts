/**
 * Secrets in args, results and progress: shown as `[redacted]`, and put back when what was shown comes in again.
 */
import { InvalidInputError } from '../errors.ts'
import { invalidField } from './problem.ts'

export const REDACTED = '[redacted]'

const ROOTS = ['args', 'result', 'progress'] as const
export type RedactRoot = (typeof ROOTS)[number]

export class Redaction {
  readonly #paths: readonly (readonly string[])[]

  /**
   * @param paths  such as `args.password`, `result.token` or `args.users.*.key`; `*` is any key or index, and an
   *   array is looked through by itself
   * @throws InvalidInputError
   */
  constructor(paths: readonly string[]) {
    for (const path of paths) {
      if (typeof path !== 'string' || !/^(?:args|result|progress)(?:\.[^.]+)*$/.test(path))
        throw new InvalidInputError(
          'redact',
          `paths begin with ${ROOTS.join(', ')}, such as 'args.password', not ${JSON.stringify(path)}`,
        )
    }
    this.#paths = paths.map((path) => path.split('.'))
  }

  /** Whether anything below it is hidden: then nobody may search in it, or could guess it letter by letter. */
  hides(root: RedactRoot): boolean {
    return this.#paths.some(([first]) => first === root)
  }

  redacted(root: RedactRoot, value: unknown): unknown {
    return this.#pathsOf(root).reduce((shown, path) => replaced(shown, path), value)
  }

  /**
   * The input with what is stored in place of what was shown.
   *
   * @throws Problem when there is nothing stored in its place
   */
  restored(root: RedactRoot, input: unknown, stored: unknown): unknown {
    return this.#pathsOf(root).reduce((value, path) => filled(value, stored, path, root), input)
  }

  #pathsOf(root: RedactRoot): (readonly string[])[] {
    return this.#paths.filter(([first]) => first === root).map((path) => path.slice(1))
  }
}

function replaced(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value === null || value === undefined ? value : REDACTED
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      key === '*' || key === String(index) ? replaced(item, rest) : replaced(item, path),
    )
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]: [string, unknown]) => [
      name,
      key === '*' || key === name ? replaced(item, rest) : item,
    ]),
  )
}

function filled(value: unknown, stored: unknown, path: readonly string[], at: string): unknown {
  const [key, ...rest] = path
  if (key === undefined) {
    if (value !== REDACTED) return value
    if (stored === undefined)
      throw invalidField(at, `'${REDACTED}' stands for a value that is not there; send the value itself`)
    return stored
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      filled(
        item,
        Array.isArray(stored) ? stored[index] : undefined,
        key === '*' || key === String(index) ? rest : path,
        `${at}.${index}`,
      ),
    )
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]: [string, unknown]) => [
      name,
      key === '*' || key === name ? filled(item, ownProperty(stored, name), rest, `${at}.${name}`) : item,
    ]),
  )
}

function ownProperty(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  const property: unknown = Reflect.get(value, name)
  return property
}
