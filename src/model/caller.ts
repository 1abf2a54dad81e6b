/** What the operations on schedules and jobs need from their caller and this process. */
import type { Authority } from './authority.ts'
import type { Redaction } from './redaction.ts'
import { checkedTask, type Task } from './task.ts'

export interface TaskContext {
  readonly taskNamed: (name: string) => Task | null
  /** Its owner takes precedence over the owner in the input. */
  readonly authority: Authority
  /** Maximum size of args in bytes. */
  readonly argsLimit: number
}

export interface CallContext extends TaskContext {
  readonly redaction: Redaction
  /** Runs work for this owner one piece at a time, so that calls in this process cannot together exceed its limits. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Called after a write, so that the worker of this process can act immediately. */
  readonly onWrite: () => void
}

/** The given task, or what this process knows about the task with the given name. @throws InvalidInputError */
export function taskOf(
  given: unknown,
  { taskNamed }: Pick<TaskContext, 'taskNamed'>,
): Pick<Task, 'name' | 'schema'> {
  if (typeof given !== 'string') return checkedTask(given)
  return taskNamed(given) ?? { name: given, schema: null }
}
