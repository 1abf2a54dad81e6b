import type { DatabaseTarget } from '../../src/store/database.ts'
import { openStores, type StoreOptions } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'

/** The store of the loops; closing it closes all connections. */
export async function openStore(target: DatabaseTarget, options: StoreOptions = {}): Promise<Store> {
  const stores = await openStores(target, options)
  return { ...stores.loops, close: () => stores.close() }
}
