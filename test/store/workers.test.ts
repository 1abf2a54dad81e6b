import { createConnection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { clock, onEachStore, one } from './conformance.ts'

const worker = (id: string) => ({
  id,
  name: id.slice(0, id.indexOf('/')),
  host: 'hö\\st',
  pid: 4711,
  tasks: ['a', 'b "\' ?'],
})

onEachStore((under) => {
  it('a worker is listed with its data and last heartbeat', async () => {
    await under.store.workers.register(worker('w/1'))
    await under.store.workers.register(worker('v/1'))
    const { workers: list } = await under.store.workers.list()
    expect(list).toMatchObject([worker('v/1'), worker('w/1')])
    for (const { startedAt: started, heartbeatAt: heartbeat } of list) {
      expect(Math.abs(started.getTime() - (await clock(under)).getTime())).toBeLessThan(600_000)
      expect(heartbeat).toEqual(started)
    }
  })

  it('a worker with an invalid row does not hide other workers', async () => {
    await under.store.workers.register(worker('w/1'))
    for (const [index, json] of ['a|b|c|', '', 'null', '5', '{"a":5}', '[1,"b"]'].entries())
      await under.query(
        `INSERT INTO worker (id, name, host, pid, tasks, sets) VALUES ('bad/${index}', 'bad', 'host', 1, ?, ?)`,
        [json, json],
      )
    const { workers: list } = await under.store.workers.list()
    expect(list.map(({ tasks }) => tasks)).toEqual([[], [], [], [], [], ['b'], worker('w/1').tasks])
    expect(list.map(({ sets }) => sets)).toEqual([{}, {}, {}, {}, {}, {}, {}])
  })

  it('a worker cannot register twice with the same id [L35]', async () => {
    await under.store.workers.register(worker('w/1'))
    await expect(under.store.workers.register(worker('w/1'))).rejects.toThrow()
  })

  it('each heartbeat is reported as written, even if there are several per millisecond', async () => {
    await under.store.workers.register(worker('w/1'))
    await under.query("UPDATE worker SET heartbeat = '2020-01-01 00:00:00.000'")
    for (let beat = 0; beat < 20; beat += 1)
      expect(await under.store.workers.heartbeat('w/1')).toBe('written')
    const { heartbeat } = await one(under, 'SELECT heartbeat FROM worker')
    expect(String(heartbeat) > '2026').toBe(true)
  })

  it('a heartbeat from an evicted worker reports the eviction', async () => {
    await under.store.workers.register(worker('w/1'))
    const [seen] = (await under.store.workers.list()).workers
    if (seen === undefined) throw new Error('not registered')
    expect(await under.store.workers.evict('w/1', seen.heartbeatAt)).toBe('evicted')
    expect(await under.store.workers.heartbeat('w/1')).toBe('gone')
    expect(await under.store.workers.evict('w/1', seen.heartbeatAt)).toBe('kept')
  })

  if (under.kind !== 'sqlite')
    it("if the heartbeat of an evicted worker waits for a lock, it fails instead of returning 'locked'", async () => {
      await under.store.workers.register(worker('w/1'))
      const other = await createConnection(under.url)
      try {
        await other.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        await other.query('BEGIN')
        await other.query('SELECT * FROM worker FOR UPDATE')
        await expect(under.store.workers.heartbeat('w/2')).rejects.toThrow()
        await other.query('ROLLBACK')
      } finally {
        other.destroy()
      }
      expect(await under.store.workers.heartbeat('w/2')).toBe('gone')
    })

  it('a worker that has sent a heartbeat since it was observed is not evicted', async () => {
    await under.store.workers.register(worker('w/1'))
    await under.query("UPDATE worker SET heartbeat = '2020-01-01 00:00:00.001'")
    expect(await under.store.workers.evict('w/1', new Date('2020-01-01T00:00:00Z'))).toBe('kept')
    expect(await under.store.workers.heartbeat('w/1')).toBe('written')
    expect(await under.store.workers.evict('w/1', new Date('2020-01-01T00:00:00.001Z'))).toBe('kept')
    expect((await under.store.workers.list()).workers).toHaveLength(1)
  })

  it('a stopping worker is removed at once', async () => {
    await under.store.workers.register(worker('w/1'))
    await under.store.workers.register(worker('w/2'))
    await under.store.workers.unregister('w/1')
    await under.store.workers.unregister('w/1')
    expect((await under.store.workers.list()).workers).toMatchObject([{ id: 'w/2' }])
  })
})
