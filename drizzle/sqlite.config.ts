import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: './drizzle/sqlite.tables.ts',
  out: './drizzle/sqlite',
})
