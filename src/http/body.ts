import { Problem } from './problem.ts'

const MAX_DEPTH = 64
/**
 * Maximum number of values in a body, counting each item and property. [Checking and storing args with this many numbers
 * blocks the event loop for less than 50 ms; 450,000 numbers in 900 KB blocked it for 0.4 s.]
 */
const MAX_VALUES = 50_000
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

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const COMMA = 0x2c
/** Matches the start of a number and all following characters that JSON.parse could read as part of it. */
const NUMBER = /[-\d][-+.\deE]*/y

/**
 * Checks depth, numbers and the number of values before the body is parsed, because every function that traverses the
 * body visits each value. This check takes a single pass for any input. A regular expression for strings would start again at
 * each quote of an unterminated string.
 */
function checkTokens(text: string): void {
  let depth = 0
  let values = 0
  let isInText = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInText = !isInText
    else if (isInText) {
      // The escaped character may be a quote.
      if (code === BACKSLASH) at += 1
    } else if (code === COMMA || code === 0x5b || code === 0x7b) {
      values += 1
      if (values > MAX_VALUES)
        throw new Problem(
          422,
          'TOO_MANY_VALUES',
          `The body has more than ${MAX_VALUES} values; send fewer at a time`,
        )
      if (code === COMMA) continue
      depth += 1
      if (depth > MAX_DEPTH)
        throw new Problem(422, 'TOO_DEEP', `The body is nested more than ${MAX_DEPTH} levels deep`)
    } else if (code === 0x5d || code === 0x7d) depth -= 1
    else if (code === MINUS || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at
      const [token = ''] = NUMBER.exec(text) ?? []
      checkNumber(token)
      at += token.length - 1
    }
  }
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
