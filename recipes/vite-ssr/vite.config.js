/** Everything but the native addon is in the bundle. */
export default {
  build: { ssr: 'bundled.js' },
  ssr: { noExternal: true, external: ['libsql'] },
}
