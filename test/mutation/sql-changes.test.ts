import { expect, test } from 'vitest'
import { changed, changesOf, partsOf, shapeOf, together } from './sql-changes.ts'

const all = (statement: string) => changesOf(statement).map((change) => changed(statement, change))

test('changes make a condition always true, and keep the values of the statement', () => {
  expect(all('SELECT id FROM job WHERE id = ? AND state IN (?, ?) ORDER BY id')).toEqual([
    'SELECT id FROM job WHERE (1 = 1 OR ( id = ? )) AND state IN (?, ?) ORDER BY id',
    'SELECT id FROM job WHERE id = ? AND (1 = 1 OR ( state IN (?, ?) )) ORDER BY id',
  ])
})

test('a condition in parentheses ends at the closing parenthesis', () => {
  expect(all('DELETE FROM job WHERE NOT EXISTS (SELECT 1 FROM worker WHERE a = b)')).toEqual([
    'DELETE FROM job WHERE (1 = 1 OR ( NOT EXISTS (SELECT 1 FROM worker WHERE a = b))) ',
    'DELETE FROM job WHERE EXISTS (SELECT 1 FROM worker WHERE a = b)',
    'DELETE FROM job WHERE NOT EXISTS (SELECT 1 FROM worker WHERE (1 = 1 OR ( a = b)) )',
  ])
})

test('changes make a CASE branch always or never apply', () => {
  expect(all("UPDATE t SET a = CASE WHEN b = 'AND' THEN 1 ELSE 2 END")).toEqual([
    "UPDATE t SET a = CASE WHEN (1 = 1 OR ( b = 'AND' )) THEN 1 ELSE 2 END",
    "UPDATE t SET a = CASE WHEN (1 = 0 AND ( b = 'AND' )) THEN 1 ELSE 2 END",
  ])
})

test('changes include or exclude the bound of a comparison, except for BETWEEN', () => {
  expect(all('SELECT MIN(a) FROM t WHERE a BETWEEN ? AND ? AND b <= ?')).toEqual([
    'SELECT MAX(a) FROM t WHERE a BETWEEN ? AND ? AND b <= ?',
    'SELECT MIN(a) FROM t WHERE (1 = 1 OR ( a BETWEEN ? AND ? )) AND b <= ?',
    'SELECT MIN(a) FROM t WHERE a BETWEEN ? AND ? AND (1 = 1 OR ( b <= ?)) ',
    'SELECT MIN(a) FROM t WHERE a BETWEEN ? AND ? AND b < ?',
  ])
})

test('statements that differ only in the length of a list have the same shape', () => {
  expect(shapeOf('SELECT id\n  FROM job WHERE id IN (?, ?, ?) LIMIT 100')).toBe(
    'SELECT id FROM job WHERE id IN (?, …) LIMIT 0',
  )
})

test('the parts of a UNION are changed separately', () => {
  const union = together(['SELECT 1 AS a', 'SELECT 2 AS a'])
  expect(partsOf(union)).toEqual(['SELECT 1 AS a', 'SELECT 2 AS a'])
  expect(new Set(partsOf(union).map(shapeOf)).size).toBe(1)
})
