import { wantedDatabases } from '../support/servers.ts'
import {
  eachFault,
  onClocks,
  onDisks,
  onFiles,
  onLocks,
  onNetworks,
  onServerProcesses,
  onServers,
  onTables,
} from './targets-each.ts'

const wanted = wantedDatabases(process.env)

if (wanted.includes('sqlite')) eachFault('sqlite', 60_000, { ...onFiles, ...onDisks, ...onClocks })
if (wanted.includes('mariadb')) {
  eachFault('mariadb', 120_000, {
    ...onNetworks,
    ...onServerProcesses,
    ...onServers,
    ...onLocks,
    ...onTables,
    ...onDisks,
    ...onClocks,
  })
}
