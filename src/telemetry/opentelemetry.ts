/**
 * `kalends/opentelemetry`: a span for each attempt of a job, with the handler's own spans inside it.
 *
 * @module
 */
import { type Span, SpanKind, SpanStatusCode, trace, type TracerProvider } from '@opentelemetry/api'
import { isA, messageOf } from '../errors.ts'
import type { Middleware } from '../index.ts'

/** Options for `tracing`. */
export interface TracingOptions {
  /** Default: the global provider. */
  readonly provider?: TracerProvider | undefined
}

/** Middleware for the `middleware` option of `Kalends.open`. */
export function tracing(options: TracingOptions = {}): Middleware {
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
          record(span, error)
          span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) })
          throw error
        } finally {
          span.end()
        }
      },
    )
  }
}

/** Records an error, even if its properties cannot be read. */
function record(span: Span, error: unknown): void {
  try {
    span.recordException(isA(error, Error) ? error : messageOf(error))
  } catch {
    span.recordException(messageOf(error))
  }
}
