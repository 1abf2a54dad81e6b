/** The documentation of settings, and the checks of their values. */
import { describe, expect, it, test } from 'vitest'
import { checkedReason, checkedSetting, checkedSettings } from '../../src/model/checked-settings.ts'
import {
  defaultsOf,
  explained,
  isNullable,
  isOfJobs,
  isPolicy,
  JOB_OPTION_NAMES,
  JOB_SETTING_NAMES,
  labelOf,
  OPTION_NAMES,
  POLICY_NAMES,
  SETTING_NAMES,
  settingOf,
  taskDefaultText,
} from '../../src/model/settings.ts'

describe('the groups of settings', () => {
  it('task, args and timer are settings but not options', () => {
    expect(SETTING_NAMES.filter((name) => !OPTION_NAMES.some((option) => option === name))).toEqual([
      'task',
      'timer',
      'args',
    ])
  })

  it('a policy consists of the timeout and the retry settings', () => {
    expect(POLICY_NAMES).toEqual(['timeout', 'retries', 'retryDelay', 'retryBackoff'])
    expect(SETTING_NAMES.filter(isPolicy)).toEqual(POLICY_NAMES)
  })

  it('a job has the settings that control its runs or name its owner', () => {
    expect(JOB_SETTING_NAMES).toEqual([
      'task',
      'args',
      ...POLICY_NAMES,
      'priority',
      'group',
      'submitter',
      'subject',
    ])
    expect(SETTING_NAMES.filter(isOfJobs)).toEqual(JOB_SETTING_NAMES)
    expect(JOB_OPTION_NAMES).toEqual(JOB_SETTING_NAMES.slice(2))
  })
})

test('the defaults of the given settings are returned', () => {
  expect(defaultsOf(['catchUp', 'jitter', 'starts'])).toEqual({ catchUp: 1, jitter: 0, starts: null })
})

test('only a setting whose default is null can be null', () => {
  expect(isNullable(settingOf('starts'))).toBe(true)
  expect(isNullable(settingOf('jitter'))).toBe(false)
  expect(isNullable(settingOf('task'))).toBe(false)
})

describe('the documentation of a setting', () => {
  test.each([
    ['task', /^The name of the task to run$/],
    ['starts', /slot before this time$/],
    ['enabled', /; default true$/],
    ['catchUp', /; default 1$/],
    ['overlap', /; default `skip`$/],
    ['args', /; default `{}`$/],
    ['group', /; default none$/],
    ['maxRuns', /; default: no limit$/],
    ['jitter', /: milliseconds or a time span; default 0$/],
    ['timeout', /: milliseconds or a time span; default: as set for the task, else 10min$/],
    ['retries', /; default: as set for the task, else 3$/],
    ['retryDelay', /else the span of an `every` timer or 1min$/],
    ['retryBackoff', /; default: as set for the task, else `exponential`$/],
  ] as const)('the documentation of %s ends with its format and its default: %s', (name, text) => {
    expect(explained(settingOf(name))).toMatch(text)
    expect(explained(settingOf(name)).startsWith(settingOf(name).description)).toBe(true)
  })

  it("shows the task's default for a policy, and none for other settings", () => {
    expect(POLICY_NAMES.map((name) => taskDefaultText(settingOf(name)))).toEqual([
      '10min',
      '3',
      'the span of an `every` timer or 1min',
      '`exponential`',
    ])
    expect(taskDefaultText(settingOf('jitter'))).toBe('')
  })
})

describe('the value of a setting', () => {
  test.each([
    ['timeout', '1min', 60_000],
    ['catchUp', 0, 0],
    ['overlap', 'replace', 'replace'],
    ['enabled', false, false],
    ['starts', new Date(5), new Date(5)],
    ['summary', 'what\nfor', 'what\nfor'],
    ['summary', 'x'.repeat(1000), 'x'.repeat(1000)],
    ['summary', '', ''],
    ['subject', ' \u200b', ' \u200b'],
    ['group', 'acme', 'acme'],
    // None.
    ['group', '', ''],
  ] as const)('%s: %j is stored as %j', (name, value, stored) => {
    expect(checkedSetting(name, value)).toEqual(stored)
  })

  test.each([
    ['timeout', 0, 'not between 1 and'],
    ['catchUp', -1, 'between 0 and 1000'],
    ['overlap', 'never', "'skip', 'queue-one', 'replace', 'allow'"],
    ['enabled', 1, 'must be true or false, got 1'],
    ['starts', 'now', 'a valid Date'],
    ['summary', 'x'.repeat(1001), 'at most 1000 characters'],
    ['summary', 'a\0', String.raw`got "a\u0000"`],
    ['summary', 5, 'got 5'],
    ['group', ' acme', '1 to 254 characters'],
    ['group', 'a\u200b', 'U+200B'],
  ] as const)('%s: %j is rejected, and the error names the setting', (name, value, why) => {
    expect(() => checkedSetting(name, value)).toThrow(
      expect.objectContaining({ field: name, message: expect.stringContaining(why) }),
    )
  })

  it('is checked if it is given; null clears optional settings', () => {
    const given = { timeout: null, starts: new Date(5), ends: undefined, jitter: '1s', summary: undefined }
    expect(checkedSettings(OPTION_NAMES, given)).toStrictEqual({
      timeout: null,
      starts: new Date(5),
      jitter: 1000,
    })
    expect(() => checkedSettings(['jitter'], { jitter: null })).toThrow(
      expect.objectContaining({ field: 'jitter' }),
    )
  })
})

test.each([
  ['timer', 'Timer'],
  ['maxRuns', 'Max runs'],
  ['retryBackoff', 'Retry backoff'],
] as const)('the label of %s is %s', (name, label) => {
  expect(labelOf(name)).toBe(label)
})

test.each([
  [undefined, null],
  [null, null],
  ['', ''],
  ['maintenance', 'maintenance'],
])('the reason %j is stored as %j', (given, stored) => {
  expect(checkedReason(given)).toBe(stored)
})

test('a reason is a string of limited length', () => {
  for (const reason of [7, 'x'.repeat(100_000), 'a\0'])
    expect(() => checkedReason(reason)).toThrow(expect.objectContaining({ field: 'reason' }))
})
