/** Bodies are JSON, bounded in bytes, depth and time, and their numbers are exact. */
import { Problem } from './problem.ts'

export interface BodyLimits {
  readonly bytes: number
  readonly depth: number
  readonly timeMs: number
}

/**
 * @returns the parsed body; undefined when there is none
 * @throws Problem 400, 408, 413, 415, 422
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  if (request.body === null) return undefined
  const bytes = await readBytes(request, limits)
  if (bytes.length === 0) return undefined
  const type = request.headers.get('content-type')
  if (!/^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(type ?? '')) {
    throw new Problem(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send the header content-type: application/json',
    )
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem(400, 'MALFORMED_JSON', 'The body is not UTF-8')
  }
  checkTokens(text, limits.depth)
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    // It quotes what came in.
    const position = /position (\d+)/.exec(reason)?.[1]
    throw new Problem(
      400,
      'MALFORMED_JSON',
      `The body is not JSON${position === undefined ? '' : `: see character ${position}`}`,
    )
  }
}

async function readBytes(request: Request, { bytes: most, timeMs }: BodyLimits): Promise<Uint8Array> {
  const tooLarge = () =>
    new Problem(413, 'BODY_TOO_LARGE', `A body may have at most ${most} bytes; send less at a time`)
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge()
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = request.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  let late: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      reject(new Problem(408, 'TIMEOUT', `The body took longer than ${timeMs} ms to come`))
    }, timeMs)
  })
  const parts: Uint8Array[] = []
  try {
    for (let size = 0; ; ) {
      const { done, value } = await Promise.race([reader.read(), timeout])
      if (done) return Buffer.concat(parts)
      size += value.length
      if (size > most) throw tooLarge()
      parts.push(value)
    }
  } catch (error) {
    reader.cancel().catch(() => undefined)
    if (error instanceof Problem) throw error
    throw new Problem(400, 'BODY_CUT_SHORT', 'The body did not come to its end')
  } finally {
    clearTimeout(late)
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}]|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/** Before it is parsed: a deep body would cost every function that walks through it. */
function checkTokens(text: string, most: number): void {
  let depth = 0
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '[' || token === '{') {
      depth += 1
      if (depth > most) throw new Problem(400, 'TOO_DEEP', `The body is nested more than ${most} levels deep`)
    } else if (token === ']' || token === '}') depth -= 1
    else if (!token.startsWith('"') && isInexact(token)) {
      throw new Problem(
        422,
        'INEXACT_NUMBER',
        `The number ${token.slice(0, 40)} would not stay exact; send it as a string`,
      )
    }
  }
}

/** Whole numbers that a double rounds, and what becomes infinite. */
function isInexact(token: string): boolean {
  const value = Number(token)
  return !Number.isFinite(value) || (/^-?\d+$/.test(token) && !Number.isSafeInteger(value))
}
