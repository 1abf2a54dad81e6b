/** Retry or cancel of all jobs that a filter shows, after saying how many these are. */
import { report } from '../actions.tsx'
import { calls } from '../api/calls.ts'
import type { Values } from '../api/client.ts'
import { notify } from '../api/live.ts'
import { ask } from '../parts/dialog.tsx'
import { toastError } from '../parts/toast.tsx'
import { count } from '../time/format.ts'

const ACTIONS: Readonly<Record<string, 'retry' | 'cancel'>> = {
  failed: 'retry',
  cancelled: 'retry',
  waiting: 'cancel',
  blocked: 'cancel',
  running: 'cancel',
}

export function MatchingJobs({
  state,
  wanted,
}: {
  readonly state: string | undefined
  readonly wanted: Values
}) {
  const action = ACTIONS[state ?? '']
  if (action === undefined) return null
  const word = action === 'retry' ? 'Retry' : 'Cancel'
  const act = async () => {
    const filter = { ...wanted, state }
    try {
      const { matched, matchedIsExact } = await calls.many(action, filter, true)
      const number = `${matchedIsExact ? '' : 'more than '}${count(matched)}`
      const body =
        action === 'retry'
          ? 'All that the filter shows, on every page of the list. They run again, from their first attempt.'
          : 'All that the filter shows, on every page of the list. Those that run are asked to stop.'
      const title = `${word} ${number} ${state} jobs?`
      const isDangerous = action === 'cancel'
      if (
        !(await ask({ title, body, action: word, isDangerous, ...(isDangerous && { dismiss: 'Go back' }) }))
      )
        return
      for (let more = true; more; ) {
        const answer = await calls.many(action, filter, false)
        report(word, matched, answer)
        // What is refused, or was asked to stop, would be met again each time.
        more = answer.more && state !== 'running' && answer.changed.length > 0 && answer.refused.length === 0
      }
    } catch (error) {
      toastError(error)
    }
    notify(new Set(['jobs', 'schedules']))
  }
  return (
    <p>
      <button type="button" class={action === 'cancel' ? 'danger' : undefined} onClick={() => void act()}>
        {word} all {state} jobs of this list
      </button>
    </p>
  )
}
