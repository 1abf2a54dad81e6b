/** The browser's own dialogs, which trap the focus, close with Escape and restore the focus. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './Button.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close()
      }}
    >
      <div class="dialog">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

export interface Question {
  readonly title: string
  readonly body?: ComponentChildren
  readonly action: string
  /** Default: 'Cancel', which is ambiguous if the question is whether to cancel a job. */
  readonly dismiss?: string
  readonly isDangerous?: boolean
}

const asked = signal<(Question & { readonly answer: (yes: boolean) => void }) | null>(null)

export function ask(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = null
        resolve(yes)
      },
    }
  })
}

export function Questions() {
  const question = asked.value
  if (question === null) return null
  return (
    <Dialog key={question.title} title={question.title} onClose={() => question.answer(false)}>
      {question.body !== undefined && <div class="dialog-body">{question.body}</div>}
      <div class="row dialog-actions">
        <Button label={question.dismiss ?? 'Cancel'} onClick={() => question.answer(false)} />
        <Button
          label={question.action}
          kind={question.isDangerous === true ? 'danger' : 'primary'}
          autoFocus
          onClick={() => question.answer(true)}
        />
      </div>
    </Dialog>
  )
}
