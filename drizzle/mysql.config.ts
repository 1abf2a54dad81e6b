import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'mysql',
  schema: './src/store/mysql/schema.ts',
  out: './drizzle/mysql',
})
