/** The documentation site: `npm run docs` builds it into docs/.vitepress/dist and fails if a link has no target. */
import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { defineConfig } from 'vitepress'

const REPOSITORY = 'https://github.com/kalends/kalends'
const DOCS = join(import.meta.dirname, '..')

const page = (text: string, link: string) => ({ text, link: `/${link}` })

/** The pages that typedoc writes before the site is built. */
function reference() {
  const folder = join(DOCS, 'reference')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .toSorted()
    .map((file) => page(`kalends/${file.replace(/\.md$/, '')}`, `reference/${file.replace(/\.md$/, '')}`))
}

export default defineConfig({
  title: 'Kalends',
  description: 'Periodic tasks for Node.js in your own SQL database',
  cleanUrls: true,
  markdown: {
    // Pages contain text such as <token>, which is not HTML, at the beginning of a line.
    html: false,
    languageAlias: { curl: 'sh', elapses: 'ini', errors: 'ini', normal: 'ini', offers: 'ini' },
    // Links to files outside docs lead to the repository.
    config: (md) => {
      md.core.ruler.push('repository', ({ tokens, env }) => {
        const folder = posix.dirname(String(env.relativePath))
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const href = link.type === 'link_open' ? link.attrGet('href') : null
          const target = href === null || /^[a-z]+:|^#/.test(href) ? '' : posix.join(folder, href)
          if (target.startsWith('../')) link.attrSet('href', `${REPOSITORY}/blob/main/${target.slice(3)}`)
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    sidebar: [
      {
        text: 'Guides',
        items: [
          page('Quickstart', 'quickstart'),
          page('Timers', 'guides/timers'),
          page('Downtime', 'guides/downtime'),
          page('Pausing and freezing', 'guides/pausing-and-freezing'),
          page('Overlap', 'guides/overlap'),
          page('Retries, timeouts, cancelling', 'guides/retries'),
          page('Declared schedules', 'guides/declared-schedules'),
          page("Users' schedules", 'guides/schedules-of-users'),
          page('Transactions', 'guides/transactions'),
          page('Beside migration tools', 'guides/beside-migration-tools'),
          page('Testing', 'guides/testing'),
          page('Shutdown, containers, probes', 'guides/shutdown'),
          page('Bundlers, hot reload, CommonJS and Jest', 'guides/bundling'),
          page('Your own job table', 'guides/your-own-job-table'),
          page('Other queues', 'guides/other-queues'),
          page('Observing', 'guides/observing'),
          page('Mounting the page and the API', 'guides/mounting'),
          page('Migrating from other schedulers', 'guides/coming-from'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Databases', 'databases'),
          page('Clusters, failover and scale', 'scaling'),
          page('Tables', 'tables'),
          page('Protocol and failure model', 'protocol'),
          page('Command line', 'cli'),
          page('REST API', 'api'),
          page('Web page', 'page'),
          page('Security', 'security'),
          page('Performance', 'performance'),
          page('Reliability', 'reliability'),
          page('Errors', 'errors'),
        ],
      },
      { text: 'API', collapsed: true, items: reference() },
      {
        text: 'Contributing',
        collapsed: true,
        items: [
          page('Decisions', 'decisions'),
          page('Hot path', 'contributing/hot-path'),
          page('Benchmarks', 'contributing/benchmarks'),
        ],
      },
    ],
  },
})
