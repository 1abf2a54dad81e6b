/** libsql is a native addon, so it is not bundled. */
export default { output: 'standalone', serverExternalPackages: ['libsql'] }
