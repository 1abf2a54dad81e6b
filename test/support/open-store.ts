import type { DatabaseTarget } from '../../src/store/database.ts'
import { openStores } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'

export type OpenStoreOptions = NonNullable<Parameters<typeof openStores>[1]>

/** The store of the loops; closing it closes all connections. */
export async function openStore(target: DatabaseTarget, options: OpenStoreOptions = {}): Promise<Store> {
  const stores = await openStores(target, options)
  return { ...stores.loops, close: () => stores.close() }
}
