import type { Kalends } from '../index.ts'
import { collectMetrics } from '../telemetry/metrics.ts'
import { Problem } from './problem.ts'

/** The source of metrics: a registry of prom-client. */
export interface MetricsRegistry {
  readonly contentType: string
  metrics(): Promise<string>
}

/** @param given  the application's own registry, which includes `kalends/prometheus`; default: a new registry */
export function metricsOf(kalends: Kalends, given: MetricsRegistry | undefined): () => Promise<Response> {
  const registry = given === undefined ? ownRegistry(kalends) : Promise.resolve(given)
  return async () => {
    const found = await registry
    if (found === null)
      throw new Problem(
        501,
        'NO_METRICS',
        'Metrics need the package prom-client in addition to kalends: npm install prom-client',
      )
    return new Response(await found.metrics(), { headers: { 'content-type': found.contentType } })
  }
}

/** Starts counting immediately, so that the first scrape includes earlier events. */
async function ownRegistry(kalends: Kalends): Promise<MetricsRegistry | null> {
  try {
    const client = await import('prom-client')
    const registry = new client.Registry()
    collectMetrics(client, kalends, { registry })
    return registry
  } catch {
    return null
  }
}
