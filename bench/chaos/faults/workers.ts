/** Workers that die, stall, are redeployed, or have a different clock. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Ground, Member, Target } from '../fault.ts'
import type { Random } from '../random.ts'
import { faketimeLibrary } from '../worker-clock.ts'
import { reachingAll, tells, timed, withMember } from './held.ts'

/** Maximum time that a worker takes to start on a busy machine. */
const START_MS = 2500

export function workerFaults(target: Pick<Target, 'kind'>, leaseMs: number): Fault[] {
  // A stalled process may hold a lock on the whole file.
  const ofProcess = (fault: Fault) => (target.kind === 'sqlite' ? reachingAll(fault) : fault)
  return [
    kill('worker.kill', 12, () => 0, leaseMs),
    kill('worker.kill-late', 5, (random) => leaseMs + random.int(500, 2500), leaseMs),
    killInWork,
    ofProcess(standStill('worker.stop', 8, (random) => leaseMs + random.int(2000, 4000), leaseMs)),
    ofProcess(
      standStill('worker.stop-short', 6, (random) => random.int(200, Math.round(leaseMs * 0.7)), leaseMs),
    ),
    restart,
    deploy,
    rollingDeploy,
    // With SQLite, each process uses its own clock, and all of these clocks must agree.
    ...(target.kind === 'sqlite' || faketimeLibrary() === null ? [] : [clockOff, clockJumps]),
  ]
}

function kill(name: string, weight: number, awayMs: (random: Random) => number, leaseMs: number): Fault {
  const isLate = name.endsWith('late')
  return {
    name,
    weight,
    lastsMs: START_MS + (isLate ? leaseMs + 2500 : 0),
    scope: 'worker',
    run: (ground, random) =>
      withMember(ground, random, async (member) => {
        await member.kill()
        const away = awayMs(random)
        await ground.pause(away)
        const startMs = await timed(member.start())
        return {
          detail: `kill -9, restarted ${away === 0 ? 'at once' : `after ${away} ms`}, ready ${startMs} ms later`,
        }
      }),
  }
}

/** Kills a worker, if possible at a moment when it has marks or running jobs. */
const killInWork: Fault = {
  name: 'worker.kill-in-work',
  weight: 8,
  lastsMs: START_MS + 1500,
  scope: 'worker',
  run: (ground, random) =>
    withMember(ground, random, async (member) => {
      const what = random.pick(['marks', 'runs'])
      const seen = await hasInHands(ground, member, what)
      await member.kill()
      await member.start()
      return { detail: seen ? `kill -9 while it had ${what}` : `kill -9; it never had ${what}` }
    }),
}

async function hasInHands(ground: Ground, member: Member, what: string): Promise<boolean> {
  const query =
    what === 'marks'
      ? 'SELECT COUNT(*) AS n FROM periodic_task WHERE worker LIKE ?'
      : "SELECT COUNT(*) AS n FROM job WHERE state = 'running' AND worker LIKE ?"
  const deadline = performance.now() + 1500
  while (performance.now() < deadline) {
    const [row] = await ground.target.query(query, [`${member.name}/%`])
    if (Number(row?.['n']) > 0) return true
    await delay(1)
  }
  return false
}

function standStill(
  name: string,
  weight: number,
  howLong: (random: Random) => number,
  leaseMs: number,
): Fault {
  const isLong = !name.endsWith('short')
  return {
    name,
    weight,
    lastsMs: isLong ? leaseMs + 4500 : leaseMs,
    scope: 'worker',
    run: (ground, random) =>
      withMember(ground, random, async (member) => {
        const ms = howLong(random)
        member.signal('SIGSTOP')
        await ground.pause(ms)
        member.signal('SIGCONT')
        if (!isLong) return { detail: `stalled for ${ms} ms` }
        // The first health report after the stall.
        const seen = tells(await member.health(), ['stall', 'lease-lost', 'no-lease', 'late', 'stuck'])
        return { detail: `stalled for ${ms} ms`, ...(seen === null ? {} : { seen }) }
      }),
  }
}

/** A clean stop releases all work. If it took longer than this, an operator would kill the process. */
const ORDERLY_MS = 15_000

const restart: Fault = {
  name: 'worker.restart',
  weight: 5,
  lastsMs: START_MS + 2000,
  scope: 'worker',
  run: (ground, random) =>
    withMember(ground, random, async (member) => {
      const stopMs = await timed(member.stop())
      await ground.pause(random.int(0, 1000))
      await member.start()
      const detail = `stopped in ${stopMs} ms and started again`
      return stopMs > ORDERLY_MS ? { detail, trouble: `took ${stopMs} ms to stop` } : { detail }
    }),
}

const deploy: Fault = {
  name: 'worker.deploy',
  weight: 4,
  lastsMs: START_MS + 1500,
  scope: 'worker',
  run: (ground, random) =>
    withMember(ground, random, async (member) => {
      const version = other(member)
      await member.stop()
      await member.start({ version })
      return { detail: `now runs the ${version} version` }
    }),
}

const rollingDeploy: Fault = {
  name: 'fleet.deploy',
  weight: 2,
  lastsMs: 4 * (START_MS + 1000),
  scope: 'whole',
  async run(ground, random) {
    const isNew = ground.fleet.members.filter(({ version }) => version === 'new').length
    const version = isNew * 2 > ground.fleet.members.length ? 'old' : 'new'
    const done = new Set<string>()
    while (done.size < ground.fleet.members.length) {
      // Another fault may be using the remaining worker.
      await delay(50)
      const report = await withMember(ground, random, async (member) => {
        if (!done.has(member.name) && member.version !== version) {
          await member.stop()
          await member.start({ version })
        }
        done.add(member.name)
        return { detail: '' }
      })
      if (report.trouble !== undefined)
        return { detail: report.detail, trouble: report.trouble, hit: 'all workers' }
    }
    return { hit: 'all workers', detail: `restarted one after another with the ${version} version` }
  },
}

function other({ version }: Member): 'old' | 'new' {
  return version === 'old' ? 'new' : 'old'
}

/** A clock offset that health() must report. */
const clockOffset = (random: Random) =>
  random.pick([-1, 1]) * (random.chance(0.5) ? random.int(4000, 90_000) : random.int(1, 5) * 3_600_000)

const clockOff: Fault = {
  name: 'worker.clock',
  weight: 3,
  lastsMs: 2 * START_MS + 6000,
  scope: 'worker',
  run: (ground, random) =>
    withMember(ground, random, async (member) => {
      const clockMs = clockOffset(random)
      await member.stop()
      await member.start({ clockMs })
      await ground.pause(random.int(3000, 5000))
      const seen = tells(await member.health(), ['clock'])
      await member.stop()
      await member.start()
      return { detail: `its clock was off by ${clockMs} ms`, ...(seen === null ? {} : { seen }) }
    }),
}

const clockJumps: Fault = {
  name: 'worker.clock-jumps',
  weight: 3,
  lastsMs: 2 * START_MS + 7000,
  scope: 'worker',
  run: (ground, random) =>
    withMember(ground, random, async (member) => {
      const steps = [0, clockOffset(random), clockOffset(random), 0]
      await member.stop()
      await member.start({ clockMs: 0 })
      for (const step of steps) {
        member.moveClock(step)
        await ground.pause(random.int(1000, 2000))
      }
      await member.stop()
      await member.start()
      return { detail: `its clock jumped while it ran: ${steps.join(', ')} ms` }
    }),
}
