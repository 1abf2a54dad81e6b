/** Module hooks that replace exact strings in files of dist/ as they are loaded. */

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
    throw new Error(`${url} was loaded without its source`)
  let source = typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source).toString()
  for (const { file, find, put } of those) {
    const parts = source.split(find)
    // A break that does not change the code would prove nothing.
    if (parts.length !== 2)
      throw new Error(
        `dist/${file} must contain this text once, but contains it ${parts.length - 1} times: ${find}`,
      )
    source = parts.join(put)
  }
  return { ...loaded, source }
}
