/** Declared sets in the database: versions, the newest version, and changes while a scheduler is working. */
/* oxlint-disable unicorn/consistent-function-scoping -- keep helpers inside their test */
import { describe, expect, it } from 'vitest'
import { plan } from '../../src/model/plan.ts'
import { toText } from '../../src/model/instant.ts'
import type { SetChanges, SetState, SetVersion } from '../../src/store/declared-store.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import {
  after,
  clock,
  LEASE_MS,
  MINUTE,
  onEachStore,
  planned,
  schedule,
  setChanges,
  setVersion,
  settings,
  WORKER,
} from './conformance.ts'

const decide: Decide = (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS + 1000 })
const nothing = setChanges({})

onEachStore((under) => {
  let sets = 0
  /** Each test uses its own set, because versions are never deleted. */
  const freshSet = () => `set ${(sets += 1)}`
  const worker = (id: string, versions: readonly SetVersion[]) =>
    under.store.workers.register({
      id,
      name: id,
      host: 'h',
      pid: 1,
      tasks: [],
      sets: Object.fromEntries(versions.map(({ name, hash }) => [name, hash])),
    })
  const stateOf = async (version: SetVersion): Promise<SetState> => {
    const seen: SetState[] = []
    await under.store.declared.sync(version, (state) => {
      seen.push(state)
      return nothing
    })
    const [state] = seen
    if (state === undefined || seen.length > 1) throw new Error('expected one call, because nothing changes')
    return state
  }
  const change = (version: SetVersion, changes: Partial<SetChanges>) =>
    under.store.declared.sync(version, () => ({ ...nothing, ...changes }))
  const ofSet = async (name: string, id: string) =>
    planned(under, id, after(await clock(under), MINUTE), { declared_by: name })

  describe('the newest version of a set', () => {
    it('is the version that appeared last among those of live workers', async () => {
      const name = freshSet()
      const [one, two, three] = [['a'], ['a', 'b'], ['a', 'b', 'c']].map((ids) => setVersion(name, ids))
      if (one === undefined || two === undefined || three === undefined) return
      expect(await stateOf(one)).toMatchObject({ isNewest: true })
      expect(await stateOf(two)).toMatchObject({ isNewest: true })
      expect(await stateOf(three)).toMatchObject({ isNewest: true })
      // The other versions have no live worker.
      expect(await stateOf(one)).toMatchObject({ isNewest: true, liveIds: new Set(['a']) })
      await worker('two', [two])
      expect(await stateOf(one)).toMatchObject({ isNewest: false, liveIds: new Set(['a', 'b']) })
      expect(await stateOf(three)).toMatchObject({ isNewest: true, liveIds: new Set(['a', 'b', 'c']) })
      await under.store.workers.unregister('two')
      expect(await stateOf(one)).toMatchObject({ isNewest: true, liveIds: new Set(['a']) })
    })

    it('does not depend on workers of other sets or on workers without sets', async () => {
      const [name, other] = [freshSet(), freshSet()]
      await worker('other', [setVersion(other, ['a', 'z'])])
      await worker('none', [])
      await stateOf(setVersion(other, ['a', 'z']))
      expect(await stateOf(setVersion(name, ['a']))).toMatchObject({
        isNewest: true,
        liveIds: new Set(['a']),
      })
    })

    it('is determined again under a lock, so that a newer version that has appeared in the meantime counts', async () => {
      const name = freshSet()
      const [old, next] = [setVersion(name, ['a']), setVersion(name, ['b'])]
      const another = await under.another()
      const seen: boolean[] = []
      const comes = async () => {
        await worker('next', [next])
        await another.declared.sync(next, () => nothing)
      }
      let coming: Promise<unknown> = Promise.resolve()
      await under.store.declared.sync(old, ({ isNewest }) => {
        seen.push(isNewest)
        if (seen.length === 1)
          // Nothing is locked yet, so the other call can succeed while this one starts its transaction.
          coming = comes()
        return isNewest
          ? setChanges({ create: [{ id: `${name} a`, settings: settings({ declaredBy: name }) }] })
          : nothing
      })
      await coming
      expect(seen[0]).toBe(true)
      expect(await stateOf(old)).toMatchObject({ isNewest: false })
    })
  })

  describe('the rows of a set', () => {
    it('are its own rows and all rows with one of its ids', async () => {
      const name = freshSet()
      await ofSet(name, 'mine, gone')
      await ofSet(freshSet(), "another's")
      await planned(under, 'by hand', null)
      await planned(under, 'taken', null)
      const { existing } = await stateOf(setVersion(name, ['taken', 'new']))
      expect(existing.map(({ id }) => id)).toEqual(['mine, gone', 'taken'])
    })

    it('an empty set is handled like any other set', async () => {
      const name = freshSet()
      await ofSet(name, 'gone')
      const { existing, isNewest } = await stateOf(setVersion(name, []))
      expect([existing.map(({ id }) => id), isNewest]).toEqual([['gone'], true])
    })
  })

  describe('a retired schedule', () => {
    it('never wakes a worker, whether it was due, edited, paused or unplanned', async () => {
      const name = freshSet()
      const past = after(await clock(under), -MINUTE)
      await planned(under, 'due', past, { declared_by: name })
      await planned(under, 'edited', past, { declared_by: name, planned_from: 'something else' })
      await planned(under, 'paused', null, { declared_by: name, enabled: 0 })
      await planned(under, 'new', null, { declared_by: name, planned_from: null })
      const ids = ['due', 'edited', 'paused', 'new']
      await change(setVersion(name, []), { retire: ids })
      for (const id of ids)
        expect(await schedule(under, id)).toMatchObject({ idle: 'retired', nextrun: null, wake_at: null })
      expect(await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)).toEqual([])
    })

    it("loses a scheduler's mark and is not submitted", async () => {
      const name = freshSet()
      await planned(under, 's', after(await clock(under), -1000), { declared_by: name })
      const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
      await change(setVersion(name, []), { retire: ['s'] })
      const { submissions } = await under.store.scheduling.submit(WORKER, marks, decide)
      expect(submissions).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ idle: 'retired', worker: null, wake_at: null })
      expect(await under.query('SELECT id FROM job')).toEqual([])
    })

    it('is planned once, from now, when it is reactivated', async () => {
      const name = freshSet()
      await planned(under, 's', after(await clock(under), -1000), { declared_by: name })
      await change(setVersion(name, []), { retire: ['s'] })
      await change(setVersion(name, ['s']), { reactivate: ['s'] })
      const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
      const { submissions } = await under.store.scheduling.submit(WORKER, marks, decide)
      expect(submissions).toMatchObject([{ id: 's', plan: { runs: [], skips: [], idle: null } }])
      expect(await schedule(under, 's')).toMatchObject({ idle: null, status: 'active' })
    })
  })

  it('a change keeps the mark and the next run of a row that a scheduler is about to submit', async () => {
    const name = freshSet()
    const slot = after(await clock(under), -1000)
    // No further slot can become due in the meantime.
    await planned(under, 's', slot, {
      declared_by: name,
      timer: 'yearly',
      planned_by_hand: 1,
    })
    const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
    await change(setVersion(name, ['s']), {
      change: [{ id: 's', settings: { args: '{"new":1}', catchUp: 3 } }],
    })
    expect(await schedule(under, 's')).toMatchObject({ worker: WORKER, nextrun: toText(slot) })
    await under.store.scheduling.submit(WORKER, marks, decide)
    expect(await under.query('SELECT args, state FROM job')).toEqual([
      { args: '{"new":1}', state: 'waiting' },
    ])
  })

  it('all changes of a set are written together or not at all', async () => {
    const name = freshSet()
    await ofSet(name, 'a')
    const isWritten = await change(setVersion(name, ['a', 'b']), {
      change: [{ id: 'a', settings: { catchUp: 7 } }],
      retire: ['a'],
      create: [{ id: 'b', settings: settings({ task: 't'.repeat(300), args: 'no JSON' }), isDue: null }],
    })
    expect(isWritten).toBe(false)
    expect(under.store.setAside()).toMatchObject([{ id: name }])
    expect(await schedule(under, 'a')).toMatchObject({ catch_up: 1, idle: null })
    expect(await under.query('SELECT id FROM periodic_task')).toEqual([{ id: 'a' }])
  })

  it('many concurrent syncs of the same set produce the same result', async () => {
    const name = freshSet()
    const ids = Array.from({ length: 20 }, (_, index) => `s${index}`)
    const stores = await Promise.all([1, 2, 3, 4].map(() => under.another()))
    await Promise.all(
      stores.map((store) =>
        store.declared.sync(setVersion(name, ids), ({ existing }) => {
          const known = new Set(existing.map(({ id }) => id))
          const create = ids.filter((id) => !known.has(id))
          return setChanges({
            create: create.map((id) => ({ id, settings: settings({ declaredBy: name }) })),
          })
        }),
      ),
    )
    expect(await under.query('SELECT COUNT(*) AS n FROM periodic_task')).toEqual([{ n: 20 }])
    expect(await under.query('SELECT COUNT(*) AS n FROM declared_set WHERE name = ?', [name])).toEqual([
      { n: 1 },
    ])
  })
})
