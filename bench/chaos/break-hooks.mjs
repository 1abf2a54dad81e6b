/** Module hooks that replace exact texts in files of dist/ as they are loaded. */

/** @type {readonly import('./breaks.ts').Mutation[]} */
let mutations = []

/** @param {readonly import('./breaks.ts').Mutation[]} data */
export function initialize(data) {
  mutations = data
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  const those = mutations.filter(({ file }) => url.endsWith(`/dist/${file}`))
  if (those.length === 0) return loaded
  if (loaded.source === undefined || loaded.source === null)
    throw new Error(`${url} was loaded without its text`)
  let source = typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source).toString()
  for (const { file, find, put } of those) {
    const parts = source.split(find)
    // A break that does not break would prove nothing.
    if (parts.length !== 2) throw new Error(`dist/${file} has ${parts.length - 1} times, not once: ${find}`)
    source = parts.join(put)
  }
  return { ...loaded, source }
}
