/** Where `--http` listens, and who may reach it there. */
import { InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from './failure.ts'

export interface HttpAddress {
  readonly host: string
  readonly port: number
}

const LEAST_TOKEN = 16

/** @param text  `127.0.0.1:4040`, `[::1]:4040`, `localhost:4040`, or a port of this machine alone */
export function httpAddress(text: string): HttpAddress {
  const parts = /^(?:(\[[\da-f:.]+\]|[\w.-]+)?:)?(\d{1,5})$/i.exec(text)
  const port = Number(parts?.[2])
  if (parts === null || port > 65_535)
    throw new InvalidArgumentError("An address such as '127.0.0.1:4040', or a port, is needed.")
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host)
}

/**
 * @returns null where none is needed
 * @throws CommandError when others could reach it without one, or when it could be guessed
 */
export function checkedToken({ host }: HttpAddress, token: string | undefined): string | null {
  if (token === undefined || token === '') {
    if (isLoopback(host)) return null
    throw new CommandError(
      `--http ${host}: others can reach this address, so a token is needed: set KALENDS_TOKEN (make one with openssl rand -hex 32)`,
      { exitCode: EXIT.usage },
    )
  }
  if (/^\S+$/.test(token) && token.length >= LEAST_TOKEN) return token
  throw new CommandError(
    `the token needs at least ${LEAST_TOKEN} characters without spaces; make one with openssl rand -hex 32`,
    { exitCode: EXIT.usage },
  )
}
