import { eachFault, onClocks, onClusters, onLocks, onNetworks, onServers } from './targets-each.ts'

await eachFault('galera', 180_000, {
  ...onNetworks,
  ...onClusters,
  ...onServers,
  ...onLocks,
  ...onClocks,
})
