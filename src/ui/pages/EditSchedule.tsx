import { useState } from 'preact/hooks'
import { api, ApiError, contentOf } from '../api/client.ts'
import type { Schedule, WrittenSchedule } from '../generated/api.ts'
import { notify } from '../api/live.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Hint, Wrong } from '../parts/Hint.tsx'
import { InstantInput } from '../parts/InstantInput.tsx'
import { PageHead } from '../parts/layout.tsx'
import { Empty, Loaded } from '../parts/placeholders.tsx'
import { Select } from '../parts/Select.tsx'
import { TimerField } from '../parts/TimerField.tsx'
import { toast, toastError, toastWarning } from '../parts/toast.tsx'
import { go, link } from '../router.ts'
import { mayEdit, session } from '../session.ts'
import { zone } from '../time/clock.ts'
import {
  EMPTY,
  type Entries,
  entriesOf,
  type Field as Setting,
  InvalidArgs,
  isName,
  type Name,
  POLICIES,
  settingsOf,
  SUMMARY,
  TASK,
} from './schedule-form.ts'

type Errors = Readonly<Record<string, string>>
type Kind = Setting['kind']

interface Edited {
  readonly schedule: Schedule
  readonly etag: string | null
}

export function NewSchedule() {
  const title = 'New schedule'
  return isForbidden() ? <Forbidden title={title} /> : <Form title={title} edited={null} />
}

const isForbidden = () => session.value !== null && !mayEdit.value

export function EditSchedule({ id }: { readonly id: string }) {
  const query = useApi('/api/v1/schedules/{id}', { path: { id } }, [])
  const title = `Edit ${id}`
  if (isForbidden()) return <Forbidden title={title} />
  return (
    <>
      {query.data === undefined && <h1 tabIndex={-1}>{title}</h1>}
      <Loaded query={query}>
        {(schedule) => <Form title={title} edited={{ schedule, etag: query.etag }} />}
      </Loaded>
    </>
  )
}

function Forbidden({ title }: { readonly title: string }) {
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      <Empty title="You can view schedules, but not change them">
        Creating and editing schedules requires the role 'admin'. Your role is '{session.value?.role}'.
      </Empty>
    </>
  )
}

/** The messages by field name, or null if the error is not about a field. */
function fieldErrors(error: unknown): Errors | null {
  if (error instanceof InvalidArgs) return { args: error.message }
  return error instanceof ApiError && Object.keys(error.fields).length > 0 ? error.fields : null
}

async function save(entries: Entries, edited: Edited | null): Promise<void> {
  const body = settingsOf(entries, edited?.schedule ?? null)
  const call =
    edited === null
      ? api.POST('/api/v1/schedules', { body })
      : api.PATCH('/api/v1/schedules/{id}', {
          params: { path: { id: edited.schedule.id } },
          headers: { 'if-match': edited.etag },
          body,
        })
  const { id, warning } = await contentOf<WrittenSchedule>(call)
  notify('schedules')
  if (warning !== undefined) toastWarning(warning)
  toast(edited === null ? `Created ${id}` : `Saved ${id}`)
  go(link(['schedules', id]))
}

function Form({ title, edited: newest }: { readonly title: string; readonly edited: Edited | null }) {
  // Keeps the state from when the form was opened, so that a concurrent edit is not overwritten.
  const [edited] = useState(newest)
  const [entries, setEntries] = useState(edited === null ? EMPTY : entriesOf(edited.schedule))
  const [errors, setErrors] = useState<Errors>({})
  const [isSending, setSending] = useState(false)
  const isNew = edited === null
  const set = (name: Name, value: string) => {
    setEntries((all) => ({ ...all, [name]: value }))
    setErrors((all) => Object.fromEntries(Object.entries(all).filter(([field]) => field !== name)))
  }
  const submit = async () => {
    setSending(true)
    try {
      await save(entries, edited)
    } catch (error) {
      const found = fieldErrors(error)
      if (found === null) toastError(error)
      else {
        setErrors(found)
        focusFirst(Object.keys(found))
      }
    } finally {
      setSending(false)
    }
  }
  const form = { entries, errors, isNew, set }
  return (
    <form
      class="sheet"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <PageHead title={title} crumb="Schedules" />
      {edited !== null && edited.schedule.declaredBy !== null && (
        <Hint>
          The set '{edited.schedule.declaredBy}' declares this schedule in code, and the next deployment
          restores the settings in the code. To change it permanently, change the code. A pause is kept.
        </Hint>
      )}
      {Object.entries(errors)
        .filter(([name]) => !isName(name))
        .map(([name, error]) => (
          <Hint key={name} role="alert">
            {name}: {error}
          </Hint>
        ))}
      <TimerField
        value={entries.timer}
        onChange={(value) => set('timer', value)}
        timerZone={entries.zone || session.value?.zone || 'UTC'}
        anchor={edited?.schedule.createdAt}
        refused={errors['timer']}
      />
      <Fields form={form} />
      <Suggestions />
      <div class="row form-actions">
        <button class="primary" disabled={isSending}>
          {isNew ? 'Create schedule' : 'Save'}
        </button>
        <Button label="Cancel" href={link(isNew ? ['schedules'] : ['schedules', edited.schedule.id])} />
      </div>
    </form>
  )
}

/** Finds the entries by name, because aria-invalid may still be set on a timer whose correction is being checked. */
function focusFirst(names: readonly string[]): void {
  const selectors = names.map((name) => `form [id="${CSS.escape(name)}"]`)
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selectors.join(', '))?.focus())
}

interface FormState {
  readonly form: {
    readonly entries: Entries
    readonly errors: Errors
    readonly isNew: boolean
    readonly set: (name: Name, value: string) => void
  }
}

interface EntryProps extends FormState {
  readonly field: Omit<Setting, 'name' | 'kind'> & { readonly name: Name; readonly kind?: Kind }
}

function formatOf(kind: Kind): string {
  if (kind === 'instant') return ` (${zone.value})`
  return kind === 'span' ? ', such as 10min' : ''
}

const INPUTS: Readonly<Record<string, object>> = {
  whole: { inputMode: 'numeric' },
  task: { list: 'tasks', required: true, autocomplete: 'off', spellcheck: false },
  id: { autocomplete: 'off', spellcheck: false },
  zone: { list: 'zones', autocomplete: 'off' },
}

function Entry({ form: { entries, errors, set }, field }: EntryProps) {
  const { name, label, help, kind = 'text', values, otherwise } = field
  const error = errors[name]
  const value = entries[name]
  const control = {
    id: name,
    name,
    value,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => set(name, currentTarget.value),
    'aria-invalid': error !== undefined,
    'aria-describedby': `${name}-help`,
  }
  const empty = otherwise === undefined || values !== undefined ? '' : `; if empty: ${otherwise}`
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {values !== undefined ? (
        <Select {...control} options={{ ...(otherwise !== undefined && { '': otherwise }), ...values }} />
      ) : kind === 'json' ? (
        <textarea {...control} class="mono" rows={rowsOf(value)} spellcheck={false} />
      ) : kind === 'instant' ? (
        <InstantInput {...control} onChange={(at) => set(name, at)} />
      ) : (
        <input {...control} {...INPUTS[kind]} {...INPUTS[name]} />
      )}
      <span id={`${name}-help`}>
        {error === undefined ? (
          <span class="help">{`${help}${formatOf(kind)}${empty}`}</span>
        ) : (
          <Wrong>{error}</Wrong>
        )}
      </span>
    </div>
  )
}

function rowsOf(text: string): number {
  return Math.min(16, Math.max(3, text.split('\n').length))
}

const ARGS = { name: 'args', label: 'Args', help: 'JSON, passed to the task', kind: 'json' } as const
const ID = { name: 'id', label: 'Id', help: 'Any unique name; generated if empty' } as const
const ZONE = { name: 'zone', label: 'Zone', help: 'For a timer without a zone' } as const
const FIRST_RUN = {
  name: 'firstRun',
  label: 'First run',
  help: '',
  values: {
    next: 'at the next run time',
    now: 'immediately',
    'if-due': 'immediately, if a run time is in this minute',
  },
} as const

function Fields({ form }: FormState) {
  const policies = form.isNew ? [...POLICIES, FIRST_RUN] : POLICIES
  return (
    <>
      <div class="pair">
        <Entry form={form} field={TASK} />
        {form.isNew && <Entry form={form} field={ID} />}
        <Entry form={form} field={{ ...ZONE, otherwise: session.value?.zone ?? 'UTC' }} />
        <Entry form={form} field={SUMMARY} />
      </div>
      <Entry form={form} field={ARGS} />
      <details class="more" open={policies.some(({ name }) => form.errors[name] !== undefined)}>
        <summary>Policies: overlap, missed slots, retries, bounds, owner</summary>
        <div class="pair">
          {policies.map((field) => (
            <Entry key={field.name} form={form} field={field} />
          ))}
        </div>
      </details>
    </>
  )
}

function Suggestions() {
  const tasks = useApi('/api/v1/tasks', {}, [])
  return (
    <>
      <datalist id="tasks">
        {tasks.data?.items.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
