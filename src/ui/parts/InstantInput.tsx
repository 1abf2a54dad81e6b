import { useState } from 'preact/hooks'
import { zone } from '../time/clock.ts'
import { changeNote, instantOf, typedAt } from '../time/format.ts'

interface InstantInputProps {
  readonly id: string
  readonly name?: string
  /** The instant in UTC, as the API accepts it, or empty if there is none. */
  readonly value: string
  readonly onChange: (value: string) => void
  readonly 'aria-invalid'?: boolean
  readonly 'aria-describedby'?: string
}

export function InstantInput({ value, onChange, ...attributes }: InstantInputProps) {
  // Typed text stays unchanged, even while it is incomplete, until the instant or the zone changes.
  const [draft, setDraft] = useState({ text: '', value: '', zone: '' })
  const isDraft = draft.value === value && draft.zone === zone.value
  const text = isDraft ? draft.text : value === '' ? '' : typedAt(new Date(value), zone.value)
  const note = value === '' ? null : changeNote(new Date(value), text, zone.value)
  return (
    <>
      <input
        {...attributes}
        type="datetime-local"
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value
          const at = instantOf(typed, zone.value)?.toISOString() ?? ''
          setDraft({ text: typed, value: at, zone: zone.value })
          onChange(at)
        }}
      />
      {note !== null && (
        <span class="quiet help" role="status">
          {note}
        </span>
      )}
    </>
  )
}
