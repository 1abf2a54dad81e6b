/** The job of sidequest-queue. Sidequest imports jobs by file path, so the job needs its own file. */
import { Job } from 'sidequest'

export const runs = { onRun: () => {} }

export class NoopJob extends Job {
  override run(number: number): { number: number } {
    runs.onRun()
    return { number }
  }
}
