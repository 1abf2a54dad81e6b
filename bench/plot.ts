/** Draws a plot as SVG: a logarithmic x axis and a y axis from zero, readable on light and dark pages. */
import { short } from './numbers.ts'
import type { Plot } from './suite.ts'

const WIDTH = 640
const HEIGHT = 320
const LEFT = 64
const RIGHT = 24
const TOP = 40
const BOTTOM = 56
const COLOURS = ['#2f7ed8', '#d9742b', '#3a9d5d', '#8a5bc7']
/** A grey that is readable on white and on black. */
const INK = '#7d8590'
const Y_TICKS = 5

export function draw({ title, x, y, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points)
  if (points.length === 0) throw new RangeError(`The plot '${title}' has no points`)
  const across = scaleX(points.map(([value]) => value))
  const top = niceTop(Math.max(...points.map(([, value]) => value)))
  const up = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM)
  const xTicks = [...new Set(points.map(([value]) => value))]
  const yTicks = Array.from({ length: Y_TICKS + 1 }, (_, tick) => (top / Y_TICKS) * tick)
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    text(WIDTH / 2, 14, title, 'middle', ' font-size="14"'),
    ...yTicks.map((tick) => {
      const line = `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(up(tick))}" y2="${at(up(tick))}" stroke="${INK}" stroke-opacity="0.25"/>`
      return line + text(LEFT - 8, up(tick) + 4, short(tick), 'end')
    }),
    ...xTicks.map((tick) => text(across(tick), HEIGHT - BOTTOM + 18, short(tick), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x, 'middle'),
    text(16, TOP - 7, y, 'start'),
    ...lines.map(({ label, points }, index) => {
      const colour = COLOURS[index % COLOURS.length] ?? INK
      const places = points.map(([px, py]) => [across(px), up(py)] as const)
      const path = places.map(([px, py]) => `${at(px)},${at(py)}`).join(' ')
      const dots = places.map(
        ([px, py]) => `<circle cx="${at(px)}" cy="${at(py)}" r="3.5" fill="${colour}"/>`,
      )
      const name = text(WIDTH - RIGHT, TOP - 7 + index * 16, label, 'end', ` style="fill: ${colour}"`)
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${name}`
    }),
    '</svg>',
  ].join('\n')}\n`
}

/** The axis is logarithmic, because each step is a multiple of the previous one; zero is at the far left. */
function scaleX(values: readonly number[]): (value: number) => number {
  const positive = values.filter((value) => value > 0)
  const hasZero = positive.length < values.length
  const logs = positive.map((value) => Math.log10(value))
  const least = Math.min(...logs) - (hasZero ? 1 : 0)
  const range = Math.max(...logs) - least || 1
  const room = WIDTH - LEFT - RIGHT - 40
  return (value) => LEFT + 20 + ((value > 0 ? Math.log10(value) : least) - least) * (room / range)
}

/** The smallest of …, 1, 2, 2.5, 5, 10, 20, 25, … that is at least `most`. */
function niceTop(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= most) ?? 10) * power
}

function text(x: number, y: number, words: string, anchor: string, more = ''): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${more}>${escaped(words)}</text>`
}

function at(value: number): string {
  return value.toFixed(1)
}

function escaped(words: string): string {
  return words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
