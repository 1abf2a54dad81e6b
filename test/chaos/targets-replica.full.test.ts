import { onReplicas } from './targets-clusters.ts'
import {
  eachFault,
  onClocks,
  onLocks,
  onNetworks,
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
