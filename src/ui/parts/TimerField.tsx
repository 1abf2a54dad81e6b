import { useEffect, useRef, useState } from 'preact/hooks'
import type { TimerCheck } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { myZone } from '../time/format.ts'
import { Hint, Wrong } from './Hint.tsx'
import { Icon } from './Icon.tsx'
import { RunTimes } from './RunTimes.tsx'

const EXAMPLES: readonly (readonly [string, string])[] = [
  ['Mon..Fri 09:00', 'weekdays at nine'],
  ['*:0/5', 'every five minutes'],
  ['daily', 'at midnight'],
  ['*-*~1 06:00', 'last day of the month'],
  ['every 90s', 'at fixed intervals'],
  ['every 10min after finish', 'a pause between runs'],
  ['cron 0 9 * * 1-5', 'cron'],
]
const TYPING_MS = 200
const RUN_TIMES = 10

interface TimerFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The zone for a timer that does not name one. */
  readonly timerZone: string
  /** The time from which the slots of `every` are counted. */
  readonly anchor?: string | undefined
  /** The server's error message after submitting. */
  readonly refused?: string | undefined
}

export function TimerField({ value, onChange, timerZone, anchor, refused }: TimerFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS)
    return () => clearTimeout(timer)
  }, [value])
  const text = settled.trim()
  const query = { timer: settled, zone: timerZone, anchor, limit: RUN_TIMES }
  const { data, error } = useApi('/api/v1/timers/check', text === '' ? undefined : { query }, [])
  const check = text === '' ? undefined : data
  const syntaxError = check?.valid === false ? check.error : undefined
  const use = (next: string) => {
    onChange(next)
    setSettled(next)
    input.current?.focus()
  }
  return (
    <div class="field">
      <label for="timer">Timer</label>
      <input
        id="timer"
        ref={input}
        class="timer-input"
        value={value}
        required
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={syntaxError !== undefined || refused !== undefined}
        aria-describedby="timer-check timer-help"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <div id="timer-check" aria-live="polite" class="check-result">
        {refused !== undefined && syntaxError === undefined && <Wrong>{refused}</Wrong>}
        {error !== undefined && <p class="help">The timer cannot be checked now: {error.message}</p>}
        {syntaxError !== undefined && <SyntaxErrorNote text={settled} error={syntaxError} onUse={use} />}
        {check?.valid === true && <Meaning check={check} typed={text} onUse={use} />}
      </div>
      <p class="help examples" id="timer-help">
        {EXAMPLES.map(([example, meaning]) => (
          <button key={example} type="button" class="link" title={meaning} onClick={() => use(example)}>
            <code>{example}</code>
          </button>
        ))}
      </p>
    </div>
  )
}

interface SyntaxErrorNoteProps {
  readonly text: string
  readonly error: Extract<TimerCheck, { valid: false }>['error']
  readonly onUse: (text: string) => void
}

function SyntaxErrorNote({ text, error, onUse }: SyntaxErrorNoteProps) {
  const { message, column, token, hint } = error
  const start = (column ?? 1) - 1
  const end = start + Math.max(1, token?.length ?? 1)
  const offered = offeredBy(hint, text.slice(0, start), text.slice(start + (token?.length ?? 0)))
  return (
    <>
      <Wrong>{message}</Wrong>
      {column !== null && (
        <div class="caret mono" aria-hidden="true">
          {text.slice(0, start)}
          <mark>{text.slice(start, end) || ' '}</mark>
          {text.slice(end)}
          {'\n'}
          {' '.repeat(start)}^ column {column}
        </div>
      )}
      <p class="examples">
        {offered !== undefined ? (
          <button type="button" onClick={() => onUse(offered)}>
            Use&nbsp;<code>{offered}</code>
          </button>
        ) : (
          hint !== null && <span>{hint}</span>
        )}
      </p>
    </>
  )
}

/** The text after applying a hint, which replaces all of it or the marked part; undefined if the hint suggests none. */
function offeredBy(hint: string | null, before: string, after: string): string | undefined {
  const [, whole] = /^write ((?:(?!, ).)+)$/u.exec(hint ?? '') ?? []
  const [, token] = /^did you mean (\S+)\?$/u.exec(hint ?? '') ?? []
  return whole ?? (token === undefined ? undefined : `${before}${token}${after}`)
}

interface MeaningProps {
  readonly check: Extract<TimerCheck, { valid: true }>
  readonly typed: string
  readonly onUse: (text: string) => void
}

function Meaning({ check, typed, onUse }: MeaningProps) {
  const [event] = check.events
  return (
    <>
      <p>
        <span class="state success">
          <Icon name="success" />
        </span>{' '}
        <b>{check.description}</b>
      </p>
      {check.text !== typed && (
        <p class="help">
          Normal form <code>{check.text}</code>
        </p>
      )}
      {check.events.length === 1 && event !== undefined && (
        <p class="help">
          As a calendar event{' '}
          <button type="button" class="link" onClick={() => onUse(event)}>
            <code>{event}</code>
          </button>
        </p>
      )}
      {check.warnings.map((warning) => (
        <Hint key={warning}>{warning}</Hint>
      ))}
      {check.elapses.length > 0 && (
        <RunTimes
          label="Next run times"
          times={check.elapses}
          timerZone={check.zone}
          myZone={myZone}
          zones={[myZone, 'UTC']}
        />
      )}
    </>
  )
}
