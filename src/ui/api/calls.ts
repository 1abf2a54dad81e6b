/** The operations of the REST API, one function each: addresses of what is read, and what is done. */
import { session, type Session } from '../session.ts'
import { setServerTime } from '../time/clock.ts'
import { address, get, send, type Values } from './client.ts'
import { connections } from './live.ts'
import type { JobsAction, JobState, Schedule } from './types.ts'

export const urls = {
  session: () => address(['me']),
  schedules: (values: Values) => address(['schedules'], values),
  scheduleCounts: (values: Values) => address(['counts', 'schedules'], values),
  schedule: (id: string) => address(['schedules', id]),
  elapses: (id: string, limit: number) => address(['schedules', id, 'elapses'], { limit }),
  history: (id: string, values: Values) => address(['schedules', id, 'history'], values),
  explain: (id: string, at?: string) => address(['schedules', id, 'explain'], { at }),
  jobs: (values: Values) => address(['jobs'], values),
  jobCounts: (values: Values) => address(['counts', 'jobs'], values),
  failures: (values: Values) => address(['failures'], values),
  job: (id: string) => address(['jobs', id]),
  attempts: (id: string) => address(['jobs', id, 'attempts']),
  logs: (id: string, after: number) => address(['jobs', id, 'logs'], { after, limit: 1000 }),
  workers: () => address(['workers']),
  tasks: () => address(['tasks']),
  check: (values: Values) => address(['timers', 'check'], values),
  upcoming: (values: Values) => address(['upcoming'], values),
  load: (values: Values) => address(['load'], values),
}

export type ScheduleAction = 'pause' | 'resume' | 'run' | 'reset'

export const calls = {
  create: (body: unknown) => send<{ id: string }>('POST', ['schedules'], body),
  change: (before: Schedule, body: unknown) =>
    send<{ id: string }>('PATCH', ['schedules', before.id], body, before),
  remove: (id: string) => send<null>('DELETE', ['schedules', id]),
  removeMany: (ids: readonly string[]) => send<null>('POST', ['schedules', 'batch-delete'], { ids }),
  act: (id: string, action: ScheduleAction, body?: unknown) =>
    send<unknown>('POST', ['schedules', id, action], body),
  cancel: (id: string) => send<{ state: JobState }>('POST', ['jobs', id, 'cancel']),
  retry: (id: string) => send<unknown>('POST', ['jobs', id, 'retry']),
  many: (action: 'retry' | 'cancel', filter: Values, dryRun: boolean) =>
    send<JobsAction>('POST', ['jobs', action], { filter, dryRun }),
  these: (action: 'retry' | 'cancel', ids: readonly string[]) =>
    send<JobsAction>('POST', ['jobs', action], { ids }),
}

/** Learns who this is and what time the server has, and again whenever a connection is made. */
export function startSession(): void {
  void learn()
  connections.subscribe((number) => {
    if (number > 0) void learn()
  })
}

async function learn(): Promise<void> {
  try {
    const known = await get<Session>(urls.session())
    setServerTime(new Date(known.now))
    session.value = known
  } catch {
    // Each page tells by itself that the server does not answer; the next connection tries again.
  }
}
