import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'mysql',
  schema: './drizzle/mysql.tables.ts',
  out: './drizzle/mysql',
})
