/**
 * `kalends/prometheus`: adds the metrics of a Kalends instance to a prom-client registry that the application serves.
 *
 * @module
 */
import * as client from 'prom-client'
import type { Kalends } from '../index.ts'
import { collectMetrics, type PrometheusOptions } from './metrics.ts'

export type { PrometheusOptions } from './metrics.ts'

/**
 * Collects metrics of this process from now on.
 *
 * @returns a function that stops collecting and removes the metrics
 */
export function prometheus(kalends: Kalends, options: PrometheusOptions = {}): () => void {
  return collectMetrics(client, kalends, options)
}
