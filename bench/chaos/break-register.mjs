/**
 * For `node --import`: has this process load a broken dist/. What to break comes as JSON in KALENDS_CHAOS_BREAK:
 * see Mutation in breaks.ts.
 */
import { register } from 'node:module'

/** @type {readonly import('./breaks.ts').Mutation[]} */
const mutations = JSON.parse(process.env['KALENDS_CHAOS_BREAK'] ?? '[]')
if (mutations.length === 0) throw new Error('KALENDS_CHAOS_BREAK names nothing to break')
register('./break-hooks.mjs', import.meta.url, { data: mutations })
