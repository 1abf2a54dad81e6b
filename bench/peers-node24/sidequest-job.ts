/** The job of sidequest-queue. Sidequest imports it by the path of its file, so it needs one of its own. */
import { Job } from 'sidequest'

export const runs = { onRun: () => {} }

export class NoopJob extends Job {
  override run(number: number): { number: number } {
    runs.onRun()
    return { number }
  }
}
