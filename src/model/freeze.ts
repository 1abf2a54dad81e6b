import type { FREEZE_COLUMNS, Values } from './columns.ts'

/** A temporary stop of a schedule, a task or a group, or of everything if it names none of them. */
export interface Freeze extends Values<typeof FREEZE_COLUMNS> {
  readonly id: string
}

export type NewFreeze = Omit<Freeze, 'id' | 'createdAt'>

/** Whether a freeze applies to a schedule or job: all fields that it names must match. */
export function isFrozenBy(
  { scheduleId, task, group }: Pick<Freeze, 'scheduleId' | 'task' | 'group'>,
  of: { readonly scheduleId: string | null; readonly task: string; readonly group: string },
): boolean {
  return (
    (scheduleId === null || scheduleId === of.scheduleId) &&
    (task === null || task === of.task) &&
    (group === null || group === of.group)
  )
}
