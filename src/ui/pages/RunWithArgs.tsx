/** One run with other args, which are not saved. */
import { useState } from 'preact/hooks'
import { calls } from '../api/calls.ts'
import { notify } from '../api/live.ts'
import type { Schedule } from '../api/types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/Icon.tsx'
import { toast, toastError } from '../parts/toast.tsx'
import { InvalidArgs, parsedArgs } from './schedule-form.ts'

export function RunWithArgs({ schedule: { id, args } }: { readonly schedule: Schedule }) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [invalid, setInvalid] = useState<string | null>(null)
  const run = async () => {
    try {
      await calls.act(id, 'run', { args: parsedArgs(text) })
      toast(`${id} runs now, with these args`)
      setOpen(false)
      notify(new Set(['schedules', 'jobs']))
    } catch (error) {
      if (error instanceof InvalidArgs) setInvalid(error.message)
      else toastError(error)
    }
  }
  return (
    <>
      <button
        type="button"
        onClick={() => {
          setText(JSON.stringify(args, null, 2))
          setInvalid(null)
          setOpen(true)
        }}
      >
        Run with args…
      </button>
      {isOpen && (
        <Dialog title="Run once with other args" onClose={() => setOpen(false)}>
          <div class="field">
            <label for="run-args">Args of this run alone</label>
            <textarea
              id="run-args"
              class="mono"
              rows={8}
              spellcheck={false}
              value={text}
              aria-invalid={invalid !== null}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            {invalid !== null && (
              <span class="wrong" role="alert">
                <Icon name="late" /> {invalid}
              </span>
            )}
          </div>
          <div class="dialog-actions">
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
            <button type="button" class="primary" onClick={() => void run()}>
              Run
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
