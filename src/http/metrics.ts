/** The metrics of this process, if prom-client is installed. */
import type { Kalends } from '../index.ts'
import { Problem } from './problem.ts'

/** What serves metrics: a registry of prom-client. */
export interface MetricsRegistry {
  readonly contentType: string
  metrics(): Promise<string>
}

export class Metrics {
  readonly #registry: Promise<MetricsRegistry | null>

  /** @param registry  the application's own, with `kalends/prometheus` in it; else one is made */
  constructor(kalends: Kalends, registry: MetricsRegistry | undefined) {
    this.#registry = registry === undefined ? ownRegistry(kalends) : Promise.resolve(registry)
  }

  async response(): Promise<Response> {
    const registry = await this.#registry
    if (registry === null) {
      throw new Problem(
        501,
        'NO_METRICS',
        'Metrics need the package prom-client beside kalends: npm install prom-client',
      )
    }
    return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
  }
}

/** From now on it counts: whoever asks first would else miss what came before. */
async function ownRegistry(kalends: Kalends): Promise<MetricsRegistry | null> {
  try {
    const { Registry } = await import('prom-client')
    const { prometheus } = await import('../telemetry/prometheus.ts')
    const registry = new Registry()
    prometheus(kalends, { registry })
    return registry
  } catch {
    return null
  }
}
