/**
 * A worker that submits and runs schedules that are due at one instant: what is the longest time that its event loop is
 * blocked? On SQLite, COMMIT is measured separately, because it waits for the disk.
 */
import { Kalends, task } from 'kalends'
import Libsql from 'libsql'
import { z } from 'zod'
import { program } from './program.ts'
import { signal } from './signal.ts'

const params = z.object({ url: z.string(), schedules: z.number() })

await program(params, async ({ url, schedules }, line) => {
  const commits = measureCommits()
  await using kalends = await Kalends.open(url, { worker: 'blocks', retention: false })
  let runs = 0
  const all = signal<null>()
  kalends.handle(task('noop'), () => {
    runs += 1
    if (runs === schedules) all.give(null)
    return { number: runs }
  })
  await kalends.start({ concurrency: 200 })
  await line.ready()
  let longest = 0
  let ticked = performance.now()
  commits.reset()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - ticked - commits.sinceTick)
    commits.sinceTick = 0
    ticked = now
  }, 1)
  await all.promise
  clearInterval(timer)
  return { longest, longestCommit: commits.longest }
})

/** The driver is synchronous, so a call blocks the event loop for its whole duration. */
function measureCommits() {
  const commits = {
    longest: 0,
    sinceTick: 0,
    reset: () => {
      commits.longest = 0
      commits.sinceTick = 0
    },
  }
  const exec = Reflect.get(Libsql.prototype, 'exec')
  Libsql.prototype.exec = function (this: Libsql.Database, sql: string) {
    const started = performance.now()
    const result = exec.call(this, sql)
    if (sql === 'COMMIT') {
      const took = performance.now() - started
      commits.longest = Math.max(commits.longest, took)
      commits.sinceTick += took
    }
    return result
  }
  return commits
}
