import { Kalends, task } from 'kalends'
import { calendar } from 'kalends/calendar'
import { http, type HttpHandler } from 'kalends/http'
import { tracing } from 'kalends/opentelemetry'
import { prometheus } from 'kalends/prometheus'
import { open, type TestKalends } from 'kalends/testing'
import { timeSpan } from 'kalends/timer'

const mail = task<{ readonly to: string }>('mail')
const kalends: Kalends = await Kalends.open('sqlite::memory:', { middleware: tracing() })
kalends.handle(mail, ({ args }) => args.to.toUpperCase())
kalends.declare('mails', [{ task: mail, timer: 'daily', args: { to: 'a' } }])
// @ts-expect-error the args of the task are missing
kalends.declare('faulty', [{ task: mail, timer: 'daily' }])

export const next: Date | null = calendar('daily').next(new Date())
export const handler: HttpHandler = http(kalends, { authorize: () => null })
export const unregister: () => void = prometheus(kalends)
export const clock: TestKalends = await open(() => undefined)
export const span: number = timeSpan('1h')
