/**
 * `kalends/opentelemetry`: a span for each attempt of a job, with the handler's own spans inside it.
 *
 * @module
 */
import { SpanKind, SpanStatusCode, trace, type TracerProvider } from '@opentelemetry/api'
import type { Around } from '../index.ts'

/** Where the spans go. */
export interface TracingOptions {
  /** Default: the global one. */
  readonly provider?: TracerProvider | undefined
}

/** For the option `around` of `Kalends.open`. */
export function tracing(options: TracingOptions = {}): Around {
  const tracer = (options.provider ?? trace.getTracerProvider()).getTracer('kalends')
  return (job, run) => {
    const attributes = {
      'messaging.system': 'kalends',
      'messaging.operation.type': 'process',
      'messaging.destination.name': job.task,
      'messaging.message.id': job.id,
      'kalends.attempt': job.attempt,
      ...(job.scheduleId !== null && { 'kalends.schedule': job.scheduleId }),
      ...(job.slot !== null && { 'kalends.slot': job.slot.toISOString() }),
    }
    return tracer.startActiveSpan(
      `run ${job.task}`,
      { kind: SpanKind.CONSUMER, attributes },
      async (span) => {
        try {
          return await run()
        } catch (error) {
          span.recordException(error instanceof Error ? error : String(error))
          span.setStatus({
            code: SpanStatusCode.ERROR,
            message: error instanceof Error ? error.message : String(error),
          })
          throw error
        } finally {
          span.end()
        }
      },
    )
  }
}
