/** Shows the progress of long work: a bar on stderr if it is a terminal, otherwise nothing. */

export interface ProgressBar {
  /** @param of  null if the total is unknown */
  update(done: number, of: number | null): void
  end(): void
}

const WIDTH = 30
/** How often the bar is drawn. */
const EVERY_MS = 100
/** Work that takes less time shows no bar. */
const AFTER_MS = 300

export function progressBar(what: string): ProgressBar {
  const { stderr } = process
  if (!stderr.isTTY) return { update: () => undefined, end: () => undefined }
  let shownAt = performance.now() + AFTER_MS - EVERY_MS
  let isShown = false
  return {
    update(done, of) {
      const now = performance.now()
      if (now - shownAt < EVERY_MS) return
      shownAt = now
      isShown = true
      stderr.write(`\r\u001b[K${barText(what, done, of)}`)
    },
    end() {
      if (isShown) stderr.write('\r\u001b[K')
    },
  }
}

/** `Importing [#########...] 30% 30/100` */
export function barText(what: string, done: number, of: number | null): string {
  if (of === null || of <= 0) return `${what} ${done}`
  const share = Math.min(1, done / of)
  const full = Math.floor(share * WIDTH)
  return `${what} [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${Math.floor(share * 100)}% ${done}/${of}`
}
