/** Measures `next` and the parser of kalends/calendar. */
import { calendar } from 'kalends/calendar'
import { elapsingParams, measureNext } from './elapsing.ts'
import { program } from './program.ts'

await program(elapsingParams, async (params) => {
  const texts = params.timers.map(({ event, zone }) => `${event} ${zone}`)
  const events = texts.map((text) => calendar(text))
  const measured = measureNext(
    events.map((event) => (after) => event.next(after)),
    params,
  )
  parse(texts, params.ms / 2)
  return { ...measured, parsesPerSecond: parse(texts, params.ms) }
})

function parse(texts: readonly string[], ms: number): number {
  const began = performance.now()
  let read = 0
  for (;;) {
    for (let time = 0; time < 100; time += 1) for (const text of texts) calendar(text)
    read += 100 * texts.length
    const tookMs = performance.now() - began
    if (tookMs >= ms) return (read / tookMs) * 1000
  }
}
