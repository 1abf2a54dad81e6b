import {
  eachFault,
  onApplications,
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
  ...onApplications,
  ...onServerProcesses,
  ...onServers,
  ...onLocks,
  ...onTables,
  ...onDisks,
  ...onClocks,
})
