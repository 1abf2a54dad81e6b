/** The options of `kalends start` that are about `--http`: checked before anything is started. */
import type { Kalends } from '../kalends.ts'
import type { Logger } from '../logger.ts'
import { CommandError, EXIT } from './failure.ts'
import type { HttpAddress } from './http-address.ts'
import type { Serving } from './serve.ts'
import { givenToken, ownToken, type Token } from './token.ts'

export interface HttpOptions {
  readonly http?: HttpAddress
  readonly tokenFile?: string
  readonly trustedProxy: readonly string[]
  readonly httpBuiltInTasks?: boolean
}

export const PLAIN_HTTP =
  'The token travels over plain HTTP, and other machines can reach this address: others on the network can read it. Listen on 127.0.0.1 behind a proxy with TLS, and name the proxy with --trusted-proxy'

export interface ServingPlan {
  readonly token: Token | null
  readonly open: (kalends: Kalends, logger: Logger) => Promise<Serving>
}

/** @throws CommandError for what cannot be meant, before anything is started */
export async function servingOf(
  { http: address, tokenFile, trustedProxy, httpBuiltInTasks: builtInTasks = false }: HttpOptions,
  database: string,
): Promise<ServingPlan | null> {
  if (address === undefined) {
    const [needless] = [
      ...(tokenFile === undefined ? [] : ['--token-file']),
      ...(trustedProxy.length === 0 ? [] : ['--trusted-proxy']),
      ...(builtInTasks ? ['--http-built-in-tasks'] : []),
    ]
    if (needless === undefined) return null
    throw new CommandError(`option '${needless}': requires --http`, { exitCode: EXIT.usage })
  }
  const isSocket = 'path' in address
  if (isSocket && trustedProxy.length > 0)
    throw new CommandError(
      "option '--trusted-proxy': proxies are known by their addresses, which a Unix socket does not have; listen on a port",
      { exitCode: EXIT.usage },
    )
  const { checkTrustedProxies, serve } = await import('./serve.ts')
  checkTrustedProxies(trustedProxy)
  const token = givenToken(tokenFile) ?? (isSocket ? null : ownToken(database))
  return {
    token,
    open: (kalends, logger) =>
      serve(kalends, {
        address,
        token: token?.value ?? null,
        trustedProxies: trustedProxy,
        builtInTasks,
        logger,
      }),
  }
}

/** How to sign in, for the terminal. A token that someone has chosen is not repeated. */
export function signInLines({ url, port, isRemote }: Serving, token: Token | null): string[] {
  if (token === null || port === null) return []
  const warning = isRemote ? [`warning: ${PLAIN_HTTP}.`] : []
  if (!token.isOwn)
    return [`Sign in at ${url} with the token from ${token.file ?? 'KALENDS_TOKEN'}.`, ...warning]
  // No browser opens the address that stands for all addresses of this machine.
  const page = url.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//localhost:')
  return [`Sign in: ${page}#token=${token.value}`, `The token is kept in ${token.file}.`, ...warning]
}
