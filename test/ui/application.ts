/** An application that serves the page: a worker with tasks, and a local server. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type HttpOptions, http, type HttpHandler, node } from '../../src/http/index.ts'
import { Kalends, type KalendsOptions, PermanentError, task } from '../../src/index.ts'

export interface Application {
  readonly kalends: Kalends
  /** With a trailing slash. */
  readonly url: string
  /** Stops the server and, after `downMs` (default 0), restarts it on the same port. */
  readonly restartServer: (downMs?: number) => Promise<void>
  readonly stop: () => Promise<void>
}

export interface ApplicationOptions {
  readonly http?: HttpOptions
  readonly kalends?: KalendsOptions
  /** The mount point of the page. Default: the root. */
  readonly base?: string
  /** Whether the worker starts. Default: true. */
  readonly works?: boolean
  /** Additional tasks by name, and how long their runs take, in ms. */
  readonly tasks?: Readonly<Record<string, number>>
}

export async function startApplication(url: string, options: ApplicationOptions = {}): Promise<Application> {
  const { base = '/' } = options
  const kalends = await Kalends.open(url, {
    worker: 'web-1',
    pollInterval: 50,
    retention: false,
    ...options.kalends,
  })
  handle(kalends)
  for (const [name, ms] of Object.entries(options.tasks ?? {}))
    kalends.handle(task(name), ({ signal }) => pause(ms, { rows: 1 }, { signal }))
  if (options.works !== false) await kalends.start({ concurrency: 10 })
  const handler = http(kalends, { open: 'admin', basePath: base, ...options.http })
  let server = await listen(handler, 0)
  const { port } = address(server)
  return {
    kalends,
    url: `http://127.0.0.1:${port}${base}`,
    restartServer: async (downMs = 0) => {
      await close(server, handler)
      await pause(downMs)
      server = await listen(handler, port)
    },
    stop: async () => {
      await close(server, handler)
      await kalends.stop({ grace: 0 })
    },
  }
}

const quick = task('quick')
const slow = task('slow')
const broken = task('broken')

/** Registers a task that ends at once, a slow one that logs and reports progress, and one that fails. */
function handle(kalends: Kalends): void {
  kalends.handle(quick, () => 'done')
  kalends.handle(slow, async ({ args, signal, log, progress }) => {
    const steps = Number(args['steps'] ?? 60)
    for (let step = 1; step <= steps; step += 1) {
      await pause(Number(args['ms'] ?? 250), undefined, { signal })
      log.info(`step ${step} of ${steps}`)
      progress(step / steps)
    }
    return { steps }
  })
  kalends.handle(broken, ({ args }) => {
    if (args['fixed'] !== true) throw new PermanentError('the warehouse does not answer: connection refused')
  })
}

function listen(handler: HttpHandler, port: number): Promise<Server> {
  const server = createServer(node(handler))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

function address(server: Server): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP port')
  return address
}

async function close(server: Server, handler: HttpHandler): Promise<void> {
  handler.close()
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
}
