import { scanJson } from '../json-scan.ts'
import { Problem } from './problem.ts'

const MAX_DEPTH = 64
/** Maximum number of values in a body, counting each item and property: see the suite `bodies` of the benchmarks. */
const MAX_VALUES = 20_000
const MAX_TIME_MS = 30_000

/**
 * @param limit  maximum number of bytes
 * @param turn  awaited before the complete body is decoded and parsed
 * @returns the parsed body, or undefined if there is none
 * @throws Problem 400, 408, 413, 415, 422
 */
export async function readBody(request: Request, limit: number, turn: () => Promise<void>): Promise<unknown> {
  if (request.body === null) return undefined
  const bytes = await readBytes(request, limit)
  if (bytes.length === 0) return undefined
  const [type = ''] = (request.headers.get('content-type') ?? '').toLowerCase().split(';', 1)
  if (!/^application\/(?:json|\S+\+json)$/.test(type.trim())) {
    throw new Problem(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send the header content-type: application/json',
    )
  }
  await turn()
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem(400, 'MALFORMED_JSON', 'The body is not UTF-8')
  }
  checkTokens(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    // The message of JSON.parse quotes the input, so only the position is taken from it.
    const position = /position (\d+)/.exec(reason)?.[1]
    throw new Problem(
      400,
      'MALFORMED_JSON',
      `The body is not JSON${position === undefined ? '' : `: see character ${position}`}`,
    )
  }
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new Problem(413, 'BODY_TOO_LARGE', `A body may have at most ${limit} bytes; send less at a time`)
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge()
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = request.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  let late: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      reject(new Problem(408, 'TIMEOUT', `The body took longer than ${MAX_TIME_MS} ms to arrive`))
    }, MAX_TIME_MS)
  })
  const parts: Uint8Array[] = []
  try {
    for (let size = 0; ; ) {
      const { done, value } = await Promise.race([reader.read(), timeout])
      if (done) return Buffer.concat(parts)
      size += value.length
      if (size > limit) throw tooLarge()
      parts.push(value)
    }
  } catch (error) {
    reader.cancel().catch(() => undefined)
    if (error instanceof Problem) throw error
    throw new Problem(400, 'BODY_CUT_SHORT', 'The body is incomplete')
  } finally {
    clearTimeout(late)
  }
}

/**
 * Checks depth, numbers and the number of values before the body is parsed, because every function that traverses the
 * body visits each value.
 */
function checkTokens(text: string): void {
  const { levels, values } = scanJson(text, { levels: MAX_DEPTH, values: MAX_VALUES, onNumber: checkNumber })
  if (values > MAX_VALUES)
    throw new Problem(
      422,
      'TOO_MANY_VALUES',
      `The body has more than ${MAX_VALUES} values; send fewer at a time`,
    )
  if (levels > MAX_DEPTH)
    throw new Problem(422, 'TOO_DEEP', `The body is nested more than ${MAX_DEPTH} levels deep`)
}

/** Rejects unsafe integers, and numbers too large for a double. JSON.parse rejects malformed numbers. */
function checkNumber(token: string): void {
  const value = Number(token)
  const isWhole = !token.includes('.') && !token.includes('e') && !token.includes('E')
  if (Number.isNaN(value) || (Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value)))) return
  throw new Problem(
    422,
    'INEXACT_NUMBER',
    `The number ${token.slice(0, 40)} would lose precision; send it as a string`,
  )
}
