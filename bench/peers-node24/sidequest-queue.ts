/**
 * The same as programs/queue, on Sidequest, in one process without threads, which is its fastest mode for short jobs.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Sidequest } from 'sidequest'
import { countdown, queueProgram } from '../programs/queue-program.ts'
import { NoopJob, runs } from './sidequest-job.ts'

/** The polling interval. A job is completed only after its handler has returned, and no event reports this. */
const LOOK_MS = 20

await queueProgram(async ({ url, concurrency }) => {
  const config = {
    backend: backendOf(url),
    logger: { level: 'error' },
    fork: false,
    runner: 'inline',
    gracefulShutdown: false,
    maxConcurrentJobs: concurrency,
    queueDefaults: { concurrency },
    dashboard: { enabled: false },
  }
  await Sidequest.configure(config)
  return {
    // Sidequest submits one job per call, so make all calls at once. Its connections limit how many calls run at once.
    submit: (numbers) => Promise.all(numbers.map((number) => Sidequest.build(NoopJob).enqueue(number))),
    worker: async (count) => {
      const { done, one } = countdown(count)
      runs.onRun = one
      return {
        run: async () => {
          await Sidequest.start(config)
          await done
          for (;;) {
            const { waiting = 0, claimed = 0, running = 0 } = await Sidequest.job.count()
            if (waiting + claimed + running === 0) return
            await pause(LOOK_MS)
          }
        },
        stop: async () => {
          await Sidequest.stop()
          await Sidequest.configure(config)
        },
      }
    },
    close: () => Sidequest.stop(),
  }
})

function backendOf(url: string): { readonly driver: string; readonly config: string } {
  const [, file] = /^sqlite:(.*)$/.exec(url) ?? []
  if (file === undefined) return { driver: '@sidequest/mysql-backend', config: url }
  // Sidequest gets a separate file, with the default settings.
  return { driver: '@sidequest/sqlite-backend', config: `${file}-sidequest` }
}
