/** The configuration of `npm run screenshots`, which takes the screenshots in docs/screenshots. */
import { defineConfig } from 'vitest/config'

// The screenshots need no server.
process.env['KALENDS_TEST_DATABASES'] = 'sqlite'

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    provide: { databases: 'sqlite' },
    include: ['test/ui/screenshots.ts'],
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
})
