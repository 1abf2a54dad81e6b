import { durationText, relativeTime } from '../../duration.ts'
import { toast } from '../parts/toast.tsx'
import { now, zone } from './clock.ts'
import { exact } from './format.ts'

/** The exact time in the timer's zone, in the zone shown, and in UTC, for a tooltip. */
function title(at: Date, shown: string, own?: string): string {
  const zones = [...new Set([...(own === undefined ? [] : [own]), shown, 'UTC'])]
  return zones.map((one) => `${exact(at, one)}${one === 'UTC' ? '' : ` ${one}`}`).join('\n')
}

/** Touch screens have no tooltips, so a tap on a time shows the exact time in a toast. */
export function startTimes(): void {
  document.addEventListener('click', ({ target }) => {
    const time =
      target instanceof Element && target.closest('a, button') === null ? target.closest('time') : null
    if (time !== null && time.title !== '' && matchMedia('(hover: none)').matches) toast(time.title)
  })
}

export function Ago({ at, own }: { readonly at: string | null; readonly own?: string }) {
  if (at === null) return <span class="none">–</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={title(date, zone.value, own)}>
      {relativeTime(date, now.value)}
    </time>
  )
}

export function At({ at, own }: { readonly at: string | null; readonly own?: string }) {
  if (at === null) return <span class="none">–</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={title(date, zone.value, own)}>
      <span>{exact(date, own ?? zone.value)}</span>{' '}
      <span class="quiet beside">{relativeTime(date, now.value)}</span>
    </time>
  )
}

export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  if (from === null) return <span class="none">–</span>
  const end = to === null ? now.value.getTime() : Date.parse(to)
  return <span>{durationText(end - Date.parse(from))}</span>
}
