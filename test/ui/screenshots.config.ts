/** `npm run screenshots`: pictures of every page into docs/screenshots. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['test/ui/screenshots.ts'], testTimeout: 600_000, hookTimeout: 120_000 },
})
