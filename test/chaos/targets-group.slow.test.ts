import { eachFault, onClocks, onGroups, onLocks, onNetworks, onPrimaries, onServers } from './targets-each.ts'

const { 'server.full': _full, ...onPrimaryServers } = onServers

await eachFault('group', 180_000, {
  ...onNetworks,
  ...onGroups,
  ...onPrimaries,
  ...onPrimaryServers,
  ...onLocks,
  ...onClocks,
})
