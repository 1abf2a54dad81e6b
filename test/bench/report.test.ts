import { describe, expect, it } from 'vitest'
import { readArguments } from '../../bench/arguments.ts'
import { pageText, splice, tableRows } from '../../bench/page.ts'
import { draw } from '../../bench/plot.ts'
import { interleave } from '../../bench/rounds.ts'
import { measureRows, tellReport } from '../../bench/report.ts'
import { cpuMeasures } from '../../bench/cpu.ts'
import { median, quantile, spread } from '../../bench/statistics.ts'
import type { Plot } from '../../bench/suite.ts'
import type { Measure } from '../../bench/measure.ts'
import { atLeast, atMost, compare, eachAtLeast, eachAtMost, find, ratio } from '../../bench/target.ts'

const ours: Measure = { work: 'run', subject: 'Kalends on MariaDB', unit: 'per s', values: [300, 100, 200] }
const peer: Measure = { work: 'run', subject: 'a|peer', unit: 'per s', values: [50, 40, 60] }

describe('figures of several runs', () => {
  it('have a median, interpolated quantiles, and a spread', () => {
    expect(median([5, 1, 3])).toBe(3)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(quantile([10, 20, 30, 40, 50], 0.99)).toBeCloseTo(49.6)
    expect(spread([90, 100, 120])).toBeCloseTo(0.3)
    expect(() => median([])).toThrow(RangeError)
  })

  it('are measured in turn', async () => {
    const seen: string[] = []
    const results = await interleave(['a', 'b'], 2, async (subject, round) => {
      seen.push(subject)
      return `${subject}${round}`
    })
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
    expect(results.get('b')).toEqual(['b0', 'b1'])
  })
})

describe('targets', () => {
  it('report whether they are reached; a value exactly at the limit counts as reached', () => {
    expect(atLeast('fast', 2, 2).reached).toBe(true)
    expect(atLeast('fast', 1.99, 2).reached).toBe(false)
    expect(atMost('late', 5, 5, ' ms')).toEqual({ text: 'late', measured: '5 ms', reached: true })
    expect(atMost('late', 5.01, 5).reached).toBe(false)
    // A target without a measurement is not reached.
    expect(atMost('late', Number.NaN, 5).reached).toBe(false)
  })

  it('compare the medians of Kalends and a peer for the same work', () => {
    expect(ratio(ours, peer)).toBe(4)
    const comparison = { work: 'run', unit: 'per s', peer: 'a|peer' }
    expect(compare([ours, peer], { ...comparison, least: 4 })).toEqual([
      {
        text: 'run, on MariaDB: at least 4 times a|peer',
        measured: '4 times (200 and 50 per s)',
        reached: true,
      },
    ])
    expect(compare([ours, peer], { ...comparison, most: 3.9 })).toMatchObject([{ reached: false }])
    expect(compare([ours], { ...comparison, least: 4 })).toEqual([])
    expect(() => find([ours], 'run', 'nobody')).toThrow(/'run' was not measured for nobody/)
  })
})

describe('a target that covers several figures', () => {
  it('shows the worst figure', () => {
    const values = [['a', 3] as const, ['b', 1] as const, ['c', 2] as const]
    expect(eachAtLeast('fast', values, 1, ' per s')).toEqual({
      text: 'fast',
      measured: '1 per s (b)',
      reached: true,
    })
    expect(eachAtMost('late', values, 2)).toEqual({ text: 'late', measured: '3 (a)', reached: false })
    expect(eachAtLeast('nothing was measured', [], 1).reached).toBe(false)
  })
})

describe('processor time', () => {
  it('is reported for the server, for Node.js, and for both', () => {
    const rounds = [
      { server: 90, node: 40 },
      { server: 70, node: 50 },
    ]
    expect(cpuMeasures('run', 'us', 'job', rounds).map(({ unit, values }) => [unit, values])).toEqual([
      ['CPU, server, µs per job', [90, 70]],
      ['CPU, Node, µs per job', [40, 50]],
      ['CPU, both, µs per job', [130, 120]],
    ])
  })
})

describe('the report', () => {
  const report = {
    suite: { name: 'queue', title: 'Jobs' },
    seconds: 1,
    findings: {
      measures: [ours, peer],
      targets: [atLeast('as fast as a peer', ratio(ours, peer), 5, ' times')],
      notes: ['of a test'],
      table: { rows: 'subject' as const, columns: [{ head: 'run, per s', work: 'run', unit: 'per s' }] },
      plots: [{ name: 'growth', title: 'It grows', x: 'n', y: 'ms', lines: [] }],
    },
  }
  const run = {
    at: '2026-01-02T03:04:05.000Z',
    machine: 'a machine',
    node: 'v20',
    parts: [{ name: 'Redis', version: '7', durability: 'snapshots' }],
    peers: ['bullmq 6'],
    missing: ['MySQL: not here'],
    command: 'npm run bench',
    runs: 3,
    quick: false,
  }

  it('shows the ratio between Kalends and each peer', () => {
    expect(measureRows([ours, peer]).slice(1)).toEqual([
      ['run', 'Kalends on MariaDB', '200', 'per s', '100 %', ''],
      ['run', 'a|peer', '50', 'per s', '40 %', '4 times'],
    ])
    expect(tellReport(report)).toContain('NOT REACHED  as fast as a peer: 4 times')
  })

  it('shows medians in a table, and omits rows without a median', () => {
    const cpu = { work: 'idle', subject: 'a|peer', unit: '%', values: [1] }
    const table = { rows: 'work' as const, columns: [{ head: 'rate', unit: 'per s' }] }
    expect(tableRows([ours, cpu], table)).toEqual([
      ['', 'rate'],
      ['run', '200'],
    ])
  })

  it('is written between the markers of the page, which otherwise stays unchanged', () => {
    const page =
      '# Mine\n<!-- written by npm run bench: begin -->\nold\n<!-- written by npm run bench: end -->\n## Theirs\n'
    const { table: _, plots: __, ...findings } = report.findings
    const plain = { ...report, suite: { name: 'calendar', title: 'Only targets' }, findings }
    const written = splice(page, pageText({ run, reports: [report, plain] }))
    expect(written).toMatch(/^# Mine\n<!--/)
    expect(written).toMatch(/-->\n## Theirs\n$/)
    expect(written).not.toContain('old')
    expect(written).toContain(
      '|  | run, per s |\n| --- | --- |\n| Kalends on MariaDB | 200 |\n| a\\|peer | 50 |\n',
    )
    expect(written).toContain('- of a test')
    expect(written).not.toContain('### Only targets')
    expect(written).toContain('| as fast as a peer | 4 times | NOT REACHED |')
    expect(written).toContain('| Redis | 7 | snapshots |')
    expect(written).toContain('Peers: bullmq 6.')
    expect(written).toContain('Not measured: MySQL: not here')
    expect(written).toContain('![It grows](plots/growth.svg)')
    expect(splice(written, 'new')).toBe(splice(page, 'new'))
    expect(() => splice('# no marks', 'new')).toThrow(/needs a line/)
  })
})

describe('a plot', () => {
  const plot: Plot = {
    name: 'growth',
    title: 'a < b & c',
    x: 'schedules',
    y: 'ms',
    lines: [
      {
        label: 'us',
        points: [
          [0, 1],
          [1000, 2],
          [1_000_000, 4],
        ],
      },
    ],
  }

  it('draws larger values further to the right and further up', () => {
    const [, points = ''] = /<polyline points="([^"]+)"/.exec(draw(plot)) ?? []
    const places = points.split(' ').map((place) => place.split(',').map(Number))
    expect(places).toHaveLength(3)
    expect(places.map(([x]) => x)).toEqual(places.map(([x]) => x).toSorted((a = 0, b = 0) => a - b))
    expect(places.map(([, y]) => y)).toEqual(places.map(([, y]) => y).toSorted((a = 0, b = 0) => b - a))
  })

  it('escapes its strings, and rejects empty data', () => {
    expect(draw(plot)).toContain('a &lt; b &amp; c')
    expect(draw(plot)).toMatch(/^<svg [^]*<\/svg>\n$/)
    expect(() => draw({ ...plot, lines: [] })).toThrow(RangeError)
  })
})

describe('the arguments of the benchmark', () => {
  it('select suites, the number of runs and quick mode', () => {
    expect(readArguments([], ['a', 'b'])).toEqual({ suites: ['a', 'b'], runs: 5, quick: false })
    expect(readArguments(['b', '--quick', '--runs', '7'], ['a', 'b'])).toEqual({
      suites: ['b'],
      runs: 7,
      quick: true,
    })
  })

  it('are rejected when they are invalid', () => {
    expect(() => readArguments(['c'], ['a', 'b'])).toThrow('Unknown: c; known suites: a, b')
    expect(() => readArguments(['--runs', 'many'], ['a'])).toThrow(/integer/)
    expect(() => readArguments(['--slow'], ['a'])).toThrow(/--slow/)
  })
})
