/**
 * The list filters, each defined once: the types and checks of conditions, the REST parameters and the command-line
 * flags derive from these definitions. `store/sql/lists/list-ranges.ts` selects the index for each filter. The comment
 * above an entry is what editors show for the property.
 */
import { type Value, WORKER_LIMIT } from './columns.ts'
import { NAME_LIMIT, SETTINGS } from './setting-table.ts'
import { JOB_STATES, STATUSES } from './states.ts'

export type Filter = {
  /** The description of the REST parameter, if its name does not explain it. */
  readonly description?: string
  readonly flag?: {
    /** As commander parses it. */
    readonly form: string
    /** Completes `only jobs …`. */
    readonly only: string
  }
} & (
  | { readonly kind: 'word'; readonly values: readonly string[] }
  | { readonly kind: 'text'; readonly most: number; readonly mayBeEmpty?: true }
  | { readonly kind: 'schedule id' | 'job id' | 'instant' }
)

const OWNERS = {
  task: { kind: 'text', most: SETTINGS.task.most, flag: { form: '--task <name>', only: 'of this task' } },
  group: {
    kind: 'text',
    most: SETTINGS.group.most,
    mayBeEmpty: true,
    flag: { form: '--group <name>', only: 'of this group' },
  },
  submitter: {
    kind: 'text',
    most: SETTINGS.submitter.most,
    mayBeEmpty: true,
    flag: { form: '--submitter <name>', only: 'of this owner' },
  },
} as const satisfies Record<string, Filter>

/** Totals of lists are counted up to this number. */
export const MAX_TOTAL = 1000

export const SCHEDULE_FILTERS = {
  status: {
    kind: 'word',
    values: STATUSES,
    flag: { form: '--status <status>', only: 'with this status' },
  },
  ...OWNERS,
  declaredBy: { kind: 'text', most: NAME_LIMIT },
  /** Part of the id, summary, subject or task; case-insensitive. */
  text: {
    kind: 'text',
    most: NAME_LIMIT,
    description: 'Part of the id, summary, subject or task; case-insensitive',
    flag: { form: '--text <text>', only: 'with this text in their id, summary, subject or task' },
  },
} as const satisfies Record<string, Filter>

export const JOB_FILTERS = {
  state: { kind: 'word', values: JOB_STATES, flag: { form: '--state <state>', only: 'in this state' } },
  ...OWNERS,
  scheduleId: { kind: 'schedule id', flag: { form: '--schedule <id>', only: 'of this schedule' } },
  /** The worker that runs the job now. */
  worker: { kind: 'text', most: WORKER_LIMIT, description: 'The worker that runs the job now' },
  /** A prefix of the id. */
  id: { kind: 'job id', description: 'The start of the id' },
  /** Part of the error; case-insensitive. */
  error: { kind: 'text', most: 500, description: 'Part of the error; case-insensitive' },
  /** Part of the stored args; case-insensitive. */
  args: { kind: 'text', most: 500, description: 'Part of the stored args; case-insensitive' },
  /** Only jobs that ended at this time or later. */
  finishedFrom: { kind: 'instant' },
  /** Only jobs that ended before this time. */
  finishedTo: { kind: 'instant' },
} as const satisfies Record<string, Filter>

export type Filters = Readonly<Record<string, Filter>>

type Wanted<Of> = Of extends { kind: 'schedule id' | 'job id' } ? string : Value<Of>

/** The conditions that rows must match; omitted conditions match all rows. */
export type Conditions<Of extends Filters> = { readonly [Name in keyof Of]?: Wanted<Of[Name]> | undefined }
