import { defineConfig, mergeConfig } from 'vitest/config'
import mutation from './vitest.config.ts'

export default mergeConfig(
  mutation,
  defineConfig({
    test: {
      setupFiles: ['test/support/end-with-runner.ts', 'test/mutation/sql-setup.ts'],
      bail: 1,
      pool: 'forks',
    },
  }),
)
