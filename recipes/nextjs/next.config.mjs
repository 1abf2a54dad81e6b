/** libsql is a native addon; it is not bundled. */
export default { output: 'standalone', serverExternalPackages: ['libsql'] }
