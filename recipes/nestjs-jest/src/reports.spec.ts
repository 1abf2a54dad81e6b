import 'reflect-metadata'
import { Test } from '@nestjs/testing'
import { Kalends } from 'kalends'
import { open } from 'kalends/testing'
import { Reports } from './reports'

test('a report is written every day', async () => {
  const app = await Test.createTestingModule({ providers: [Reports] }).compile()
  const reports = app.get(Reports)
  const clock = await open((kalends) => reports.register(kalends), { now: '2026-01-01T12:00:00Z' })
  await clock.advance('2d')
  expect(reports.written).toEqual(['sales', 'sales'])
  expect(clock.kalends).toBeInstanceOf(Kalends)
  await clock.close()
  await app.close()
})
