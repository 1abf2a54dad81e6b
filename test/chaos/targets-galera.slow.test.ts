import { wantedDatabases } from '../support/servers.ts'
import { eachFault, onClocks, onClusters, onLocks, onNetworks, onServers } from './targets-each.ts'

if (wantedDatabases(process.env).includes('mariadb')) {
  eachFault('galera', 180_000, {
    ...onNetworks,
    ...onClusters,
    ...onServers,
    ...onLocks,
    ...onClocks,
  })
}
