/** The text of a timer, checked while it is typed: what it means, when it comes, where the fault is. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import type { TimerCheck } from '../api/types.ts'
import { now } from '../time/clock.ts'
import { relativeTime } from '../../duration.ts'
import { exact, myZone } from '../time/format.ts'
import { Icon } from './Icon.tsx'

const EXAMPLES: readonly (readonly [string, string])[] = [
  ['Mon..Fri 09:00', 'weekdays at nine'],
  ['*:0/5', 'every five minutes'],
  ['daily', 'at midnight'],
  ['*-*~1 06:00', 'last day of the month'],
  ['every 90s', 'fixed steps'],
  ['every 10min after finish', 'a pause between runs'],
  ['cron 0 9 * * 1-5', 'cron'],
]
const TYPING_MS = 200
const ELAPSES = 10

interface TimerFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Written into a timer that names none. */
  readonly timerZone: string
  /** Where the slots of `every` begin. */
  readonly anchor?: string | undefined
  /** What the server said when it was sent. */
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
  const { data, error } = useApi<TimerCheck>(
    text === '' ? undefined : urls.check({ timer: settled, zone: timerZone, anchor, limit: ELAPSES }),
    [],
  )
  const check = text === '' ? undefined : data
  const fault = check?.valid === false ? check.fault : undefined
  const use = (next: string) => {
    onChange(next)
    setSettled(next)
    input.current?.focus()
  }
  const goToFault = () => {
    if (fault === undefined || fault.column === null) return
    const start = fault.column - 1
    input.current?.focus()
    input.current?.setSelectionRange(start, start + (fault.token?.length ?? 0))
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
        aria-invalid={fault !== undefined || refused !== undefined}
        aria-describedby="timer-check timer-help"
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && fault !== undefined) {
            event.preventDefault()
            goToFault()
          }
        }}
      />
      <div id="timer-check" aria-live="polite" class="check-result">
        {refused !== undefined && fault === undefined && (
          <p class="wrong">
            <Icon name="late" /> {refused}
          </p>
        )}
        {error !== undefined && <p class="help">It cannot be checked just now: {error.message}</p>}
        {fault !== undefined && <Fault text={settled} fault={fault} onGo={goToFault} onUse={use} />}
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

interface FaultProps {
  readonly text: string
  readonly fault: Extract<TimerCheck, { valid: false }>['fault']
  readonly onGo: () => void
  readonly onUse: (text: string) => void
}

function Fault({ text, fault: { message, column, token, hint }, onGo, onUse }: FaultProps) {
  const start = (column ?? 1) - 1
  const end = start + Math.max(1, token?.length ?? 1)
  const offered = offeredBy(hint, text.slice(0, start), text.slice(start + (token?.length ?? 0)))
  return (
    <>
      <p class="wrong">
        <Icon name="late" /> <span>{message}</span>
      </p>
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
        {column !== null && (
          <button type="button" class="link" onClick={onGo}>
            Go to the fault
          </button>
        )}
      </p>
    </>
  )
}

/** What a hint would have in place of the text: all of it, or what is marked. */
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
  const zones = [...new Set([check.zone, myZone, 'UTC'])]
  const [event] = check.events
  return (
    <>
      <p>
        <span class="state success">
          <Icon name="success" />
        </span>{' '}
        <b>{check.words}</b>
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
        <p key={warning} class="hint">
          <Icon name="late" /> {warning}
        </p>
      ))}
      {check.elapses.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Next run times">
          <table class="elapses">
            <caption class="hidden">Next run times</caption>
            <thead>
              <tr>
                <th scope="col">In</th>
                {zones.map((one) => (
                  <th key={one} scope="col">
                    {one}
                    <span class="quiet">
                      {one === check.zone ? ' (timer)' : ''}
                      {one === myZone ? ' (mine)' : ''}
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {check.elapses.map(({ at }) => {
                const date = new Date(at)
                return (
                  <tr key={at}>
                    <td>{relativeTime(date, now.value).replace(/^in /u, '')}</td>
                    {zones.map((one) => (
                      <td key={one}>{exact(date, one)}</td>
                    ))}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}
