/** Starts `kalends start --http` in the test process, or as a separate program if the process itself matters. */
import { once } from 'node:events'
import { request } from 'node:http'
import { startHere } from './here.ts'
import { start, temporaryFolder } from './program.ts'

const SERVED = /The REST API is served url=(\S+)/

/** A token that is long enough for the API. */
export const TOKEN = 'a-token-that-nobody-guesses'

export async function serving(args: readonly string[], env: Record<string, string> = {}, cwd?: string) {
  const folder = cwd ?? (await temporaryFolder())
  const worker = await startHere(['start', '--http', ...args], { cwd: folder, env })
  const [, url = ''] = SERVED.exec(worker.printed()) ?? []
  return { worker, url, folder }
}

export async function servingProcess(args: readonly string[], cwd: string) {
  const worker = start('dist/cli/main.js', ['start', '--http', ...args], { cwd })
  await worker.until(/Ready; press Ctrl-C to stop/)
  const [, url = ''] = SERVED.exec(worker.printed()) ?? []
  return { worker, url }
}

export const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

/** Sends GET over a Unix socket. @returns the status */
export async function getAt(
  socketPath: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const sent = request({ socketPath, path, headers: { host: 'localhost', ...headers }, agent: false }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  return Number(response.statusCode)
}
