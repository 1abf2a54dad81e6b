import {
  eachFault,
  onClocks,
  onGroups,
  onLocks,
  onNetworks,
  onPrimaries,
  onProxies,
  onServers,
} from './targets-each.ts'

await eachFault('group', 180_000, {
  ...onNetworks,
  ...onGroups,
  ...onProxies,
  ...onPrimaries,
  ...onServers,
  ...onLocks,
  ...onClocks,
})
