import { open } from 'kalends/testing'
import { expect, test } from 'vitest'
import { setUp } from './reports.ts'

test('reports are sent at nine on workdays, before and after the clock change', async () => {
  const sent: string[] = []
  await using app = await open(
    setUp((text) => sent.push(text)),
    { now: '2026-03-26T12:00:00Z' },
  )
  await app.advance('5d')
  expect(sent).toEqual([
    'Berlin 2026-03-27T08:00:00.000Z',
    'Berlin 2026-03-30T07:00:00.000Z',
    'Berlin 2026-03-31T07:00:00.000Z',
  ])
})

test('a report that could not be sent is retried an hour later', async () => {
  let attempts = 0
  const send = () => {
    attempts += 1
    if (attempts === 1) throw new Error('The mail server is down')
  }
  await using app = await open(setUp(send), { now: '2026-03-27T07:59:00Z' })
  await app.advance('30min')
  expect(attempts).toBe(1)
  await app.advance('1h')
  expect(attempts).toBe(2)
})
