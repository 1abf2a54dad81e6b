/** The configuration of `npm run screenshots`, which takes the screenshots in docs/screenshots. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    provide: { databases: 'sqlite' },
    include: ['test/ui/screenshots.ts'],
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
})
