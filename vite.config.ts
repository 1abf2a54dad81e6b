import { defineConfig } from 'vite'

/** Builds the page of src/ui into dist/ui. Its addresses are relative: it is served under any base path. */
export default defineConfig({
  root: 'src/ui',
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/ui',
    emptyOutDir: true,
    // The first ones with light-dark() in CSS.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // Of what is bundled into the page.
    license: { fileName: 'licenses.md' },
  },
})
