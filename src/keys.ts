import { InvalidInputError } from './errors.ts'
import { nearest } from './nearest.ts'

/** The names of all options of a type; the compiler checks that the list is complete. */
export function namesOf<Options extends object>(
  options: Readonly<Record<keyof Required<Options> & string, true>>,
): readonly string[] {
  return Object.keys(options)
}

/**
 * Rejects unknown keys. Otherwise, a misspelt option would be ignored and its default used.
 *
 * @param path  the prefix of names in errors, such as `retention.`
 * @param name  what the object is called in errors; default: `options`, or the path
 * @throws InvalidInputError when the value is not an object, or has an unknown key
 */
export function checkKeys(
  given: unknown,
  known: readonly string[],
  path = '',
  name = path.slice(0, -1),
): void {
  // An array, a Date or a Map has no keys, so everything in it would be ignored.
  const kind = Object.prototype.toString.call(given).slice(8, -1)
  if (typeof given !== 'object' || given === null || kind !== 'Object')
    throw new InvalidInputError(
      name || 'options',
      `must be an object, got ${typeof given === 'object' && given !== null ? kind : String(given === null ? null : typeof given)}`,
    )
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown === undefined) return
  const meant = nearest(unknown, known)
  throw new InvalidInputError(
    `${path}${unknown}`,
    meant === undefined
      ? `unknown; the options are ${known.join(', ') || 'none'}`
      : `unknown; did you mean ${path}${meant}?`,
  )
}
