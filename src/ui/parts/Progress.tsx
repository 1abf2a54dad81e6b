export function ProgressBar({ share, class: name }: { readonly share: number; readonly class: string }) {
  return (
    <span class={name}>
      <progress aria-label="Progress" value={share} />
      {Math.round(share * 100)} %
    </span>
  )
}

/** Converts progress (a share, a percentage, `{percent}` or `{done, total}`) to a share from 0 to 1; otherwise null. */
export function shareOf(progress: unknown): number | null {
  if (typeof progress === 'number' && progress >= 0)
    return progress <= 1 ? progress : progress <= 100 ? progress / 100 : null
  if (typeof progress !== 'object' || progress === null) return null
  const { percent, done, total }: { percent?: unknown; done?: unknown; total?: unknown } = progress
  if (typeof percent === 'number') return Math.min(1, Math.max(0, percent / 100))
  return typeof done === 'number' && typeof total === 'number' && total > 0 ? Math.min(1, done / total) : null
}
