/**
 * The module that the others import: it opens Kalends when the application is made, starts it once every provider has
 * named its handlers, and stops it when the application ends.
 */
import type { Kalends, StartOptions } from 'kalends'
import { type Module, type OnApplicationShutdown, type OnModuleInit, provide, token } from './container.ts'

export const KALENDS = token<Kalends>('Kalends')
const LIFE_CYCLE = token<KalendsLifeCycle>('KalendsLifeCycle')

export interface KalendsModuleOptions {
  /** Opens the database; tests give a virtual clock. */
  readonly open: () => Kalends | Promise<Kalends>
  /** Whether this process is a worker, and how; false: it only writes schedules and submits jobs. */
  readonly start: StartOptions | false
}

class KalendsLifeCycle implements OnModuleInit, OnApplicationShutdown {
  readonly #kalends: Kalends
  readonly #start: StartOptions | false

  constructor(kalends: Kalends, start: StartOptions | false) {
    this.#kalends = kalends
    this.#start = start
  }

  // Every provider has been made by now, and has said in its constructor what it handles and declares.
  async onModuleInit(): Promise<void> {
    if (this.#start !== false) await this.#kalends.start(this.#start)
  }

  // The modules that use Kalends were closed before: their handlers had until now, and get the grace period.
  async onApplicationShutdown(): Promise<void> {
    await this.#kalends.stop({ grace: '20s' })
  }
}

export const KalendsModule = {
  forRoot({ open, start }: KalendsModuleOptions): Module {
    return {
      name: 'KalendsModule',
      providers: [
        provide(KALENDS, [], open),
        provide(LIFE_CYCLE, [KALENDS], (kalends) => new KalendsLifeCycle(kalends, start)),
      ],
    }
  },
}
