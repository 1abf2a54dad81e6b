/**
 * The module that other modules import. It opens Kalends when the application is created, starts it after all providers
 * have registered their handlers, and stops it at shutdown.
 */
import type { Kalends, StartOptions } from 'kalends'
import { type Module, type OnApplicationShutdown, type OnModuleInit, provide, token } from './container.ts'

export const KALENDS = token<Kalends>('Kalends')
const LIFE_CYCLE = token<KalendsLifeCycle>('KalendsLifeCycle')

export interface KalendsModuleOptions {
  /** Opens Kalends; in tests, with a virtual clock. */
  readonly open: () => Kalends | Promise<Kalends>
  /** Start options of the worker; false if this process only writes schedules and submits jobs. */
  readonly start: StartOptions | false
}

class KalendsLifeCycle implements OnModuleInit, OnApplicationShutdown {
  readonly #kalends: Kalends
  readonly #start: StartOptions | false

  constructor(kalends: Kalends, start: StartOptions | false) {
    this.#kalends = kalends
    this.#start = start
  }

  // By now, all providers have registered their handlers and schedules in their constructors.
  async onModuleInit(): Promise<void> {
    if (this.#start !== false) await this.#kalends.start(this.#start)
  }

  // The modules that use Kalends are already closed. Running handlers get the grace period to finish.
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
