import { Button } from './Button.tsx'
import { toast } from './toast.tsx'

export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, null, 2) ?? ''
  if (text === '{}' || text === '[]') return <code>{text}</code>
  return (
    <div class="json">
      <pre class="block" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} what={label} />
    </div>
  )
}

export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  // Browsers provide the clipboard API only to pages loaded over HTTPS or from the same machine.
  if (!('clipboard' in navigator)) return null
  const copy = () => navigator.clipboard.writeText(text).then(() => toast(`${what} copied`))
  return <Button kind="link" label="Copy" aria-label={`Copy ${what}`} onClick={copy} />
}
