/** The bundle contains everything except the native addons. */
export default {
  build: { ssr: 'bundled.js' },
  ssr: { noExternal: true, external: ['better-sqlite3', 'libsql'] },
}
