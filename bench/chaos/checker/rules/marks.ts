/**
 * Everything that a dead worker held is released: after the run, no mark remains and no worker is registered twice.
 * During the run, no mark is longer than the lease.
 */
import { groupBy } from '../../../../src/store/group-by.ts'
import { type Evidence } from '../evidence.ts'
import { scheduleRow } from '../rows.ts'
import { instantText } from '../times.ts'
import type { Violation } from '../verdict.ts'

export function marks(evidence: Evidence): Violation[] {
  const { record } = evidence
  return [...left(evidence), ...tooLong(evidence), ...workers(record.workers.map((row) => String(row['id'])))]
}

function left({ schedules }: Evidence): Violation[] {
  return schedules.flatMap(({ id, last }): Violation[] =>
    last === null || (last.worker === null && last.marked === null && last.markEnds === null)
      ? []
      : [
          {
            rule: 'mark',
            schedule: id,
            text: `a mark remains: by ${last.worker} from ${instantText(last.marked)} until ${instantText(last.markEnds)}`,
          },
        ],
  )
}

/** Checks the marks that edits found, except marks that an earlier edit had set. */
function tooLong({ schedules, record }: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const { id, edits } of schedules) {
    for (const [index, edit] of edits.entries()) {
      if (edit.before === null) continue
      const found = scheduleRow(edit.before)
      const { worker, marked, markEnds } = found
      if (worker === null) continue
      const after = edits[index - 1]?.row
      const byHand =
        after !== undefined &&
        after !== null &&
        after['worker'] === found.text['worker'] &&
        after['mark_ends'] === found.text['mark_ends']
      if (byHand) continue
      if (marked === null || markEnds === null || markEnds - marked > record.leaseMs)
        violations.push({
          rule: 'mark',
          schedule: id,
          text: `marked by ${worker} from ${instantText(marked)} until ${instantText(markEnds)}: longer than the lease of ${record.leaseMs} ms`,
        })
    }
  }
  return violations
}

/** A restarted worker has the same name and a new suffix, and removes the row of its predecessor. */
function workers(ids: readonly string[]): Violation[] {
  return [...groupBy(ids, (id) => id.slice(0, id.lastIndexOf('/')))]
    .filter(([, of]) => of.length > 1)
    .map(([name, of]) => ({
      rule: 'mark',
      schedule: null,
      text: `the worker ${name} is registered ${of.length} times: ${of.join(', ')}`,
    }))
}
