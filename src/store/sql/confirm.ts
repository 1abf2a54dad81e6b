import type { Context } from './context.ts'

/**
 * Writes the heartbeat of a worker, so that what this transaction has read can be trusted once it has committed. A server
 * that is no longer the primary may still answer reads, without what the new primary has committed, but it cannot commit.
 *
 * [A member that was leaving its replication group called itself ONLINE and PRIMARY for two seconds. What it did not know
 * was taken for lost: handlers were aborted, and ends of runs dropped.]
 */
export async function confirmByWrite(tx: Context, worker: string): Promise<void> {
  await tx.run(`UPDATE ${tx.tables.worker} SET heartbeat = ${tx.dialect.now} WHERE id = ?`, [worker])
}
