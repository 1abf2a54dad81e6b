/** The bundle contains everything except the native addon. */
export default {
  build: { ssr: 'bundled.js' },
  ssr: { noExternal: true, external: ['libsql'] },
}
