/** Nodes of a Galera cluster die, stall, are isolated from the others, or stop applying writes. */
import { setTimeout as delay } from 'node:timers/promises'
import type { GaleraCluster, GaleraNode } from '../../../test/support/servers-galera.ts'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import type { Admin } from '../targets/admin.ts'
import { timed } from './held.ts'
import { seenByWorkers, withSeen } from './mending.ts'

/** Galera considers a silent node lost after 5 s. */
const SUSPECT_MS = 5000

/** The nodes are in step when causal reads have been fast on every node for this long. */
const IN_STEP_MS = 1000
const CAUSAL_READ_MS = 500
const IN_STEP_LIMIT_MS = 240_000
/**
 * A node that Galera has not readmitted after this time is restarted, as an operator would do. A node that reconnects
 * at the moment the others drop it may stay in its old view permanently, without a message in its log.
 */
const TAKEN_BACK_MS = 30_000

/** @param adminOf  returns an administrator on the given node */
export function clusterFaults(
  { nodes }: Pick<GaleraCluster, 'nodes'>,
  adminOf: (node: GaleraNode) => Admin,
  leaseMs: number,
): Fault[] {
  /** Waits until all nodes are in step again. @returns how long that took, and which nodes were restarted */
  const inStep = async (): Promise<string> => {
    const began = performance.now()
    const restarted: string[] = []
    let patientSince = began
    for (let since = began; performance.now() - since < IN_STEP_MS; await delay(100)) {
      const [lost, ...others] = await outOfStep(nodes, adminOf)
      if (lost === undefined) continue
      if (performance.now() - began > IN_STEP_LIMIT_MS) {
        throw new Error(`${[lost, ...others].map(({ name }) => name).join(' and ')} did not come back`)
      }
      if (performance.now() - patientSince > TAKEN_BACK_MS) {
        await lost.kill()
        await lost.start()
        restarted.push(lost.name)
        patientSince = performance.now()
      }
      since = performance.now()
    }
    const ms = Math.round(performance.now() - began)
    return `in step ${ms} ms later${restarted.map((name) => `, ${name} only after a restart`).join('')}`
  }
  return [
    ofNode('cluster.kill-node', 2, 24_000, nodes, async (node, ground, random) => {
      const ms = random.int(0, leaseMs + 3000)
      await node.kill()
      let backMs = 0
      try {
        await ground.pause(ms)
      } finally {
        backMs = await timed(node.start())
      }
      return { detail: `kill -9, restarted after ${ms} ms, in step ${backMs} ms later` }
    }),
    ofNode('cluster.restart-node', 2, 15_000, nodes, async (node) => {
      const stopMs = await timed(node.stop())
      const backMs = await timed(node.start())
      return { detail: `stopped in ${stopMs} ms, in step again ${backMs} ms after its start` }
    }),
    ofNode('cluster.isolate-node', 2, 16_000, nodes, async (node, ground, random) => {
      const ms = random.int(2000, SUSPECT_MS + 3000)
      let back = ''
      try {
        await node.isolate(true)
        await ground.pause(ms)
      } finally {
        await node.isolate(false)
        back = await inStep()
      }
      return { detail: `isolated from the others for ${ms} ms, ${back}` }
    }),
    ofNode('cluster.stand-still', 2, 18_000, nodes, async (node, ground, random) => {
      const ms = random.int(1500, SUSPECT_MS + 3000)
      if (node.pid === null) return { detail: 'it was down', trouble: `${node.name} was down` }
      const { pid } = node
      let back = ''
      process.kill(pid, 'SIGSTOP')
      try {
        await ground.pause(ms)
      } finally {
        process.kill(pid, 'SIGCONT')
        back = await inStep()
      }
      return { detail: `stalled for ${ms} ms, ${back}` }
    }),
    ofNode('cluster.backup-lock', 2, 9000, nodes, async (node, ground, random) => {
      const ms = random.int(1500, 6000)
      await adminOf(node).connected(async (connection) => {
        // The node behaves like a donor: it accepts no writes, and neither applies the writes of the other nodes nor
        // slows those nodes down.
        await connection.query('FLUSH TABLES WITH READ LOCK')
        await ground.pause(ms)
        await connection.query('UNLOCK TABLES')
      })
      const backMs = await timed(node.ready())
      return { detail: `FLUSH TABLES WITH READ LOCK for ${ms} ms, in step ${backMs} ms later` }
    }),
    {
      name: 'cluster.split',
      weight: 1,
      lastsMs: 20_000,
      scope: 'whole',
      async run(ground, random) {
        const [one, ...others] = shuffled(nodes, random)
        const cutOff = others.length < 2 ? nodes : others
        const ms = random.int(2000, SUSPECT_MS + 3000)
        let back = ''
        let seen: boolean | null = null
        try {
          await Promise.all(cutOff.map((node) => node.isolate(true)))
          await ground.pause(ms)
          seen = ms > SUSPECT_MS + leaseMs ? await seenByWorkers(ground) : null
        } finally {
          await Promise.all(cutOff.map((node) => node.isolate(false)))
          back = await inStep()
        }
        const detail = `all three nodes isolated for ${ms} ms (${one?.name ?? 'no node'} only because the others were); ${back}`
        return withSeen({ hit: 'all nodes', detail }, seen)
      },
    },
    {
      name: 'cluster.down',
      weight: 1,
      lastsMs: 20_000,
      scope: 'whole',
      async run(ground, random) {
        const ms = random.int(0, 2000)
        await Promise.all(nodes.map((node) => node.kill()))
        let backMs = 0
        try {
          await ground.pause(ms)
        } finally {
          // Start them one after another: the first node bootstraps the cluster.
          backMs = await timed(
            (async () => {
              for (const node of shuffled(nodes, random)) await node.start()
            })(),
          )
        }
        return {
          hit: 'all nodes',
          detail: `kill -9 of all, restarted after ${ms} ms, in step ${backMs} ms later`,
        }
      },
    },
  ]
}

/**
 * The nodes that do not answer a causal read in time. The status that a node reports about itself may be out of date.
 */
async function outOfStep(
  nodes: readonly GaleraNode[],
  adminOf: (node: GaleraNode) => Admin,
): Promise<GaleraNode[]> {
  const answers = await Promise.all(
    nodes.map(async (node) => {
      const connection = await adminOf(node)
        .connect(0)
        .catch(() => null)
      if (connection === null) return false
      try {
        await connection.query('SET SESSION wsrep_sync_wait = 1')
        await connection.query({ sql: 'SELECT COUNT(*) FROM mysql.user', timeout: CAUSAL_READ_MS })
        return true
      } catch {
        return false
      } finally {
        connection.destroy()
      }
    }),
  )
  return nodes.filter((_, index) => answers[index] === false)
}

type Hurt = (node: GaleraNode, ground: Ground, random: Random) => Promise<Omit<FaultReport, 'hit'>>

function ofNode(
  name: string,
  weight: number,
  lastsMs: number,
  nodes: readonly GaleraNode[],
  hurt: Hurt,
): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'whole',
    async run(ground, random) {
      const node = random.pick(nodes)
      return { hit: node.name, ...(await hurt(node, ground, random)) }
    },
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, at: random.int(0, 1_000_000) }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
