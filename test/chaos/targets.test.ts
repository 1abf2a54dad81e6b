import { isRoot } from '../support/servers-programs.ts'
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
// Without root there is no disk to fill.
const disks = isRoot() ? onDisks : {}

if (wanted.includes('sqlite')) eachFault('sqlite', 60_000, { ...onFiles, ...disks, ...onClocks })
if (wanted.includes('mariadb')) {
  eachFault('mariadb', 120_000, {
    ...onNetworks,
    ...onServerProcesses,
    ...onServers,
    ...onLocks,
    ...onTables,
    ...disks,
    ...onClocks,
  })
}
