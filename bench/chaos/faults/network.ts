/** Faults in the network between the database and one worker or all workers. */
import type { Fault, Ground, Way, WayProxy } from '../fault.ts'
import type { Random } from '../random.ts'
import { withMember } from './held.ts'
import { seenByWorkers, withSeen } from './mending.ts'

interface Hurt {
  readonly does: (proxy: WayProxy, random: Random) => string
  readonly forMs: (random: Random, ground: Ground) => number
}

const hurts = {
  cut: {
    does: (proxy) => {
      proxy.cut()
      return 'connections were closed and new ones refused'
    },
    forMs: (random) => random.int(1000, 5000),
  },
  'half-open': {
    does: (proxy) => {
      proxy.stall()
      return 'connections were half-open: no data passed'
    },
    forMs: (random, { leaseMs }) => leaseMs + random.int(1500, 3000),
  },
  strand: {
    does: (proxy) => {
      proxy.strand()
      return 'existing connections were half-open, and only new ones worked'
    },
    forMs: (random, { leaseMs }) => leaseMs + random.int(500, 2500),
  },
  slow: {
    does: (proxy, random) => {
      const ms = random.int(20, 300)
      proxy.slow(ms)
      return `every packet was delayed by ${ms} ms`
    },
    forMs: (random) => random.int(3000, 6000),
  },
} as const satisfies Readonly<Record<string, Hurt>>

/** @param ways  the connections of all workers to the database, each with a proxy */
export function networkFaults(ways: readonly Way[], leaseMs: number): Fault[] {
  return [
    ofOne('network.cut', 6, hurts.cut, 5500),
    ofOne('network.half-open', 5, hurts['half-open'], leaseMs + 3500),
    ofOne('network.strand', 5, hurts.strand, leaseMs + 3000),
    ofOne('network.slow', 5, hurts.slow, 6500),
    ofAll('network.cut-all', 3, hurts.cut, 5500, ways),
    ofAll('network.half-open-all', 2, hurts['half-open'], leaseMs + 3500, ways),
    ofAll('network.strand-all', 2, hurts.strand, leaseMs + 3000, ways),
    ofAll('network.slow-all', 3, hurts.slow, 6500, ways),
  ]
}

function ofOne(name: string, weight: number, hurt: Hurt, lastsMs: number): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'worker',
    run: (ground, random) =>
      withMember(ground, random, async ({ way }) => {
        if (way.proxy === null)
          return { detail: 'there is no network between the worker and the database', trouble: 'no proxy' }
        const ms = hurt.forMs(random, ground)
        try {
          const detail = hurt.does(way.proxy, random)
          await ground.pause(ms)
          return { detail: `${detail} for ${ms} ms` }
        } finally {
          way.proxy.mend()
        }
      }),
  }
}

function ofAll(name: string, weight: number, hurt: Hurt, lastsMs: number, ways: readonly Way[]): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'whole',
    async run(ground, random) {
      const proxies = ways.map(({ proxy }) => proxy).filter((proxy) => proxy !== null)
      const ms = hurt.forMs(random, ground)
      try {
        const details = proxies.map((proxy) => hurt.does(proxy, random))
        await ground.pause(ms)
        const seen = name.startsWith('network.slow') ? null : await seenByWorkers(ground)
        return withSeen({ hit: 'all workers', detail: `${details[0] ?? 'nothing'} for ${ms} ms` }, seen)
      } finally {
        for (const proxy of proxies) proxy.mend()
      }
    },
  }
}
