import { eachFault, onClocks, onGroups, onLocks, onNetworks, onPrimaries, onServers } from './targets-each.ts'

await eachFault('group', 180_000, {
  ...onNetworks,
  ...onGroups,
  ...onPrimaries,
  ...onServers,
  ...onLocks,
  ...onClocks,
})
