/** The effects of faults on several servers that form one database. */
import { expect } from 'vitest'
import { until } from '../support/worker-process.ts'
import { all, type Expectation, one, READ, told, WRITE } from './targets-each.ts'

export const onClusters: Readonly<Record<string, Expectation>> = {
  'cluster.kill-node': one('cut'),
  'cluster.restart-node': { reports: /^stopped in \d+ ms, in step again/ },
  'cluster.isolate-node': one(1047, WRITE),
  'cluster.stand-still': one('silence'),
  'cluster.backup-lock': {
    during: async (scene) => {
      expect(await told(scene, WRITE)).not.toEqual(['done', 'done', 'done'])
    },
  },
  'cluster.split': {
    during: async (scene) => {
      await until('no node accepts a write', async () =>
        (await told(scene, WRITE)).every((outcome) => outcome !== 'done'),
      )
    },
  },
  'cluster.down': all('cut'),
}

const outsideItsGroup = (how: string): Expectation => ({
  reports: new RegExp(
    `^${how} its group; writable, and nothing was written to it; all ONLINE \\d+ ms later$`,
  ),
})

/** Faults on groups with one or more primaries. */
export const onGroups: Readonly<Record<string, Expectation>> = {
  'group.kill-primary': one('cut'),
  'group.kill-member': one('cut'),
  'group.restart-member': { reports: /^stopped in \d+ ms and started again; all ONLINE/ },
  'group.stand-still': one('silence'),
  'group.no-majority': {
    during: async (scene) => {
      await until('no member accepts a write', async () =>
        (await told(scene, WRITE)).every((outcome) => outcome !== 'done'),
      )
    },
  },
  'group.outside': outsideItsGroup('started again outside'),
  'group.leave': outsideItsGroup('left'),
}

/** Faults on groups with one primary. */
export const onPrimaries: Readonly<Record<string, Expectation>> = {
  'group.switchover': { reports: /^became the primary instead of m\d in \d+ ms$/ },
  'group.down': all('cut'),
}

/** Faults of HAProxy, which only the second way to connect (`way` 1) uses. */
export const onProxies: Readonly<Record<string, Expectation>> = {
  'haproxy.kill': all('cut', READ, 1),
  'haproxy.restart': { reports: /^stopped in \d+ ms and started again in \d+ ms$/ },
  'haproxy.stand-still': all('silence', READ, 1),
}

/** Faults on a replica pair in which each COMMIT waits for the replica. */
export const onReplicas: Readonly<Record<string, Expectation>> = {
  'replica.switchover': { reports: /^s[12] became the source in its place in \d+ ms$/ },
  'replica.promote': {
    reports: /^kill -9.*; \d+ ms later s[12] was promoted in \d+ ms, and .* came back as its replica/,
  },
  'replica.kill': one('silence', WRITE),
  'replica.restart': { reports: /^stopped in \d+ ms and started again in \d+ ms$/ },
  'replica.stand-still': one('silence', WRITE),
  // The replica is always read-only.
  'server.read-only': all(1290, WRITE),
}
