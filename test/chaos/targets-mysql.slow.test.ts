import { wantedDatabases } from '../support/servers.ts'
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

if (wantedDatabases(process.env).includes('mysql')) {
  eachFault('mysql', 180_000, {
    ...onNetworks,
    ...onServerProcesses,
    ...onServers,
    ...onLocks,
    ...onTables,
    ...onDisks,
    ...onClocks,
  })
}
