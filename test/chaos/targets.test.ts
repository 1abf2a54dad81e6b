import {
  eachFault,
  onApplications,
  onClocks,
  onDisks,
  onFiles,
  onLocks,
  onNetworks,
  onServerProcesses,
  onServers,
  onTables,
} from './targets-each.ts'

await eachFault('sqlite', 60_000, { ...onFiles, ...onDisks, ...onClocks })
await eachFault('mariadb', 120_000, {
  ...onNetworks,
  ...onApplications,
  ...onServerProcesses,
  ...onServers,
  ...onLocks,
  ...onTables,
  ...onDisks,
  ...onClocks,
})
