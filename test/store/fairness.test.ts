/** Groups take turns, and so do the tasks of a group whose first jobs have equal priority, whatever the capacity is. */
import { describe, expect, it } from 'vitest'
import { insertAll, onEachStore, policies, type StoreUnderTest } from './conformance.ts'

/** The tasks of each group that have a backlog; the names of the tasks are not in the order of their jobs. */
const QUEUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'one group': [['import', 'mail']],
  'one group with many tasks': [['a', 'b', 'c', 'd', 'e']],
  'a large group first': [['a', 'b', 'c', 'd'], ['a']],
  'a large group last': [['a'], ['b'], ['a', 'b', 'c']],
  'five groups': [['a', 'b'], ['a'], ['c', 'b'], ['d'], ['a', 'b', 'c']],
}
const TASKS = ['a', 'b', 'c', 'd', 'e', 'import', 'mail']
const BACKLOG = 30

interface Turn {
  readonly group: string
  readonly task: string
}

/** Claims and finishes jobs. Each job is a turn of its group and its task. */
async function turnsOf({ store, query }: StoreUnderTest, limit: number, jobs: number): Promise<Turn[]> {
  const lastTasks = new Map<string, string>()
  const turns: Turn[] = []
  while (turns.length < jobs) {
    const lastGroup = turns.at(-1)?.group ?? ''
    const claimed = await store.executing.claim('w/1', policies(...TASKS), limit, lastGroup, { lastTasks })
    for (const { group, task } of claimed) {
      turns.push({ group, task })
      lastTasks.set(group, task)
    }
    await query("DELETE FROM job WHERE state = 'running'")
  }
  return turns
}

onEachStore((under) => {
  describe.each(Object.entries(QUEUES))('%s', (_, groups) => {
    it.each([1, 2, 3, 7])('capacity %i: no group and no task waits longer than its share', async (limit) => {
      await insertAll(
        under,
        'job',
        groups.flatMap((tasks, group) =>
          tasks.flatMap((task, place) =>
            // The first task has by far the largest backlog, and the oldest jobs.
            Array.from({ length: BACKLOG - place }, (__, index) => ({
              id: `${group}-${place}-${String(index).padStart(3, '0')}`,
              task,
              group_: `g${group}`,
            })),
          ),
        ),
      )
      const turns = await turnsOf(under, limit, 25)
      const gap = (isOne: (turn: Turn) => boolean) => {
        const places = [-1, ...turns.flatMap((turn, place) => (isOne(turn) ? [place] : [])), turns.length]
        return Math.max(...places.slice(1).map((place, index) => place - (places[index] ?? 0)))
      }
      for (const [index, tasks] of groups.entries()) {
        const group = `g${index}`
        expect({ group, gap: gap((turn) => turn.group === group) }).toEqual({
          group,
          gap: expect.toSatisfy((most: number) => most <= groups.length),
        })
        for (const task of tasks)
          expect({ group, task, gap: gap((turn) => turn.group === group && turn.task === task) }).toEqual({
            group,
            task,
            gap: expect.toSatisfy((most: number) => most <= groups.length * tasks.length),
          })
      }
    })
  })

  it('a higher priority comes first within its group, and the other groups still get their turns', async () => {
    const rows = (task: string, group: string, priority: number) =>
      Array.from({ length: 10 }, (_, index) => ({
        id: `${group}${task}${index}`,
        task,
        group_: group,
        priority,
      }))
    await insertAll(under, 'job', [...rows('a', 'g', 0), ...rows('b', 'g', 5), ...rows('c', 'h', -5)])
    const turns = await turnsOf(under, 1, 24)
    expect(turns.map(({ group }) => group).join('')).toBe(`${'gh'.repeat(10)}gggg`)
    const ofG = turns.filter(({ group }) => group === 'g').map(({ task }) => task)
    expect(ofG.join('')).toBe('b'.repeat(10) + 'a'.repeat(4))
  })
})
