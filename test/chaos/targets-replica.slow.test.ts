import {
  eachFault,
  onClocks,
  onLocks,
  onNetworks,
  onReplicas,
  onServerProcesses,
  onServers,
  onTables,
} from './targets-each.ts'

await eachFault('replica', 180_000, {
  ...onNetworks,
  ...onServerProcesses,
  ...onServers,
  ...onReplicas,
  ...onLocks,
  ...onTables,
  ...onClocks,
})
