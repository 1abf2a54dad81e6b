import { Kalends, task } from 'kalends'
import { calendar } from 'kalends/calendar'
import { http, type HttpHandler } from 'kalends/http'
import { tracing } from 'kalends/opentelemetry'
import { prometheus } from 'kalends/prometheus'
import { open, type TestKalends } from 'kalends/testing'
import timer = require('kalends/timer')

const mail = task<{ readonly to: string }>('mail')

export async function main() {
  const kalends: Kalends = await Kalends.open('sqlite::memory:', { middleware: tracing() })
  kalends.handle(mail, ({ args }) => args.to.toUpperCase())
  kalends.declare('mails', [{ task: mail, timer: 'daily', args: { to: 'a' } }])
  // @ts-expect-error the args of the task are missing
  kalends.declare('faulty', [{ task: mail, timer: 'daily' }])

  const next: Date | null = calendar('daily').next(new Date())
  const handler: HttpHandler = http(kalends, { authorize: () => null })
  const unregister: () => void = prometheus(kalends)
  const clock: TestKalends = await open(() => undefined)
  const span: number = timer.timeSpan('1h')
  return { next, handler, unregister, clock, span }
}
