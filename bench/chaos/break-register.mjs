/**
 * For `node --import`: makes this process load a broken dist/. KALENDS_CHAOS_BREAK contains the mutations as JSON: see
 * Mutation in breaks.ts.
 */
import { register } from 'node:module'

/** @type {readonly import('./breaks.ts').Mutation[]} */
const mutations = JSON.parse(process.env['KALENDS_CHAOS_BREAK'] ?? '[]')
if (mutations.length === 0) throw new Error('KALENDS_CHAOS_BREAK contains no mutations')
register('./break-hooks.mjs', import.meta.url, { data: mutations })
