/** One run with other args, which are not saved. */
import { useState } from 'preact/hooks'
import { perform } from '../actions.tsx'
import { api } from '../api/client.ts'
import type { Schedule } from '../api/generated/api.ts'
import { Button } from '../parts/Button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Wrong } from '../parts/Hint.tsx'
import { toast } from '../parts/toast.tsx'
import { InvalidArgs, parsedArgs } from './schedule-form.ts'

export function RunWithArgs({ schedule: { id, args } }: { readonly schedule: Schedule }) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [error, setError] = useState<string | null>(null)
  const run = () =>
    perform(async () => {
      try {
        const body = { args: parsedArgs(text) }
        await api.POST('/api/v1/schedules/{id}/run', { params: { path: { id } }, body })
        toast(`${id}: run started, with these args`)
        setOpen(false)
      } catch (caught) {
        if (!(caught instanceof InvalidArgs)) throw caught
        setError(caught.message)
      }
    })
  return (
    <>
      <Button
        label="Run with args…"
        onClick={() => {
          setText(JSON.stringify(args, null, 2))
          setError(null)
          setOpen(true)
        }}
      />
      {isOpen && (
        <Dialog title="Run once with other args" onClose={() => setOpen(false)}>
          <div class="field">
            <label for="run-args">Args for this run only</label>
            <textarea
              id="run-args"
              class="mono"
              rows={8}
              spellcheck={false}
              value={text}
              aria-invalid={error !== null}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <div role="alert">{error !== null && <Wrong>{error}</Wrong>}</div>
          </div>
          <div class="row dialog-actions">
            <Button label="Cancel" onClick={() => setOpen(false)} />
            <Button label="Run" kind="primary" onClick={run} />
          </div>
        </Dialog>
      )}
    </>
  )
}
