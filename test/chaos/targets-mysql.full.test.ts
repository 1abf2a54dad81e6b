import {
  eachFault,
  onClocks,
  onDisks,
  onLocks,
  onNetworks,
  onServerProcesses,
  onServers,
  onTables,
} from './targets-each.ts'

await eachFault('mysql', 180_000, {
  ...onNetworks,
  ...onServerProcesses,
  ...onServers,
  ...onLocks,
  ...onTables,
  ...onDisks,
  ...onClocks,
})
