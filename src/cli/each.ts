/** The same for several ids: an error of one does not stop the others. */
import { exitCodeOf, messageOf, QuietFailure } from './failure.ts'
import { say } from './output.ts'

/** @throws QuietFailure with the exit code of the first error, once all were tried */
export async function forEachId(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  if (ids.length === 1 && ids[0] !== undefined) return work(ids[0])
  let first: number | null = null
  for (const id of ids) {
    try {
      await work(id)
    } catch (error) {
      say(`error: ${messageOf(error)}`)
      first ??= exitCodeOf(error)
    }
  }
  if (first !== null) throw new QuietFailure('some failed', { exitCode: first })
}
