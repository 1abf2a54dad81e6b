import { onGroups, onPrimaries, onProxies } from './targets-clusters.ts'
import { eachFault, onClocks, onLocks, onNetworks, onServers } from './targets-each.ts'

await eachFault('group', 180_000, {
  ...onNetworks,
  ...onGroups,
  ...onProxies,
  ...onPrimaries,
  ...onServers,
  ...onLocks,
  ...onClocks,
})
