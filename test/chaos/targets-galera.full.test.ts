import { onClusters } from './targets-clusters.ts'
import { eachFault, onClocks, onLocks, onNetworks, onServers } from './targets-each.ts'

await eachFault('galera', 180_000, {
  ...onNetworks,
  ...onClusters,
  ...onServers,
  ...onLocks,
  ...onClocks,
})
