/** The drivers for SQLite are native addons, so they are not bundled. */
export default { output: 'standalone', serverExternalPackages: ['better-sqlite3', 'libsql'] }
