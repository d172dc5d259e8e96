/** The documentation site: its navigation and its search. `npm run docs` builds it (../build-site.mjs). */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'
import { accessibleTheme } from './accessible-theme.mjs'
import {
  databaseTabs,
  emptyHeadings,
  pictures,
  renderForSearch,
  repositoryLinks,
} from './markdown.mjs'

/**
 * Every page of `docs` is in one group, in the order of the sidebar, of "previous" and of "next". `folder/*` stands for the pages
 * of a folder that are not listed. A page in no group fails test/repository/links.test.ts.
 */
const groups = [
  { text: 'Start', pages: ['README', 'tutorial/README', 'tutorial/*'] },
  {
    text: 'Guides',
    pages: [
      ...['routes', 'fields', 'authentication', 'access-rules', 'signing-in-with-providers'],
      ...['passkeys', 'one-time-links', 'rate-limits', 'http-modules'],
      ...['records/README', 'records/model', 'records/queries', 'records/writes'],
      ...['records/relations', 'records/transactions', 'records/migrations', 'records/access'],
      ...[
        'records/search-and-aggregates',
        'records/*',
        'existing-database',
        'from-sqlite-to-postgresql',
        'csv',
        'graphql',
        'live',
        'live-in-components',
      ],
      ...['client', 'jobs', 'mail', 'admin', 'agents', 'testing', 'applications', 'extending'],
      'atlas',
    ],
  },
  {
    text: 'Reference',
    pages: ['openapi', 'configuration', 'commands', 'errors', 'compatibility'],
  },
  { text: 'Recipes', pages: ['recipes/README', 'recipes/*'] },
  {
    text: 'Coming from',
    pages: [
      ...['coming-from-express', 'coming-from-nestjs', 'coming-from-tsoa'],
      ...['coming-from-typegraphql', 'coming-from-typeorm-and-prisma'],
    ],
  },
  {
    text: 'Operation',
    pages: [
      ...[
        'production',
        'monitoring',
        'scaling',
        'partitions',
        'performance',
        'reliability',
        'upgrading',
      ],
      ...['dependencies'],
    ],
  },
  { text: 'Maintainers', pages: ['maintainers/README', 'maintainers/*'] },
]

const docs = resolve(import.meta.dirname, '..')
const { description, homepage, exports } = JSON.parse(
  readFileSync(join(docs, '../package.json'), 'utf8'),
)
export const repository = homepage.replace(/#.*$/, '')

/** The entries of the package with the file of their types: `{ name: 'filigree/throttle', types: './dist/…' }`. */
export const entries = Object.entries(exports)
  .map(([path, { types }]) => ({ name: posix.join('filigree', path), types }))
  .filter(({ types }) => types !== undefined)

/** The groups with the title of each page: `{ text, pages: [{ path: 'tutorial/README.md', title }] }`. */
export const navigation = groups.map(({ text, pages }) => ({
  text,
  pages: pages.flatMap(expand).map((page) => ({ path: `${page}.md`, title: titleOf(page) })),
}))

function expand(entry) {
  if (!entry.endsWith('/*')) return [entry]
  const folder = entry.slice(0, -2)
  const listed = groups.flatMap(({ pages }) => pages)
  return readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name.slice(0, -3)}`)
    .filter((page) => !listed.includes(page))
    .sort()
}

/** @returns the first heading of a page, without the marks of code */
function titleOf(page) {
  const text = readFileSync(join(docs, `${page}.md`), 'utf8')
  return (/^# (.+)$/m.exec(text)?.[1] ?? page).replaceAll('`', '')
}

/** @returns the address of a page in the site */
const addressOf = (path) => `/${path.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1')}`

/** Makes the anchors of GitHub, which the links in the pages use. */
const slugify = (title) =>
  title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

/** Ranks guides before comparisons and before symbols of the API. VitePress calls it in the browser. */
function boostDocument(id) {
  if (id.startsWith('/api/')) return 0.1
  return /^\/(?:coming-from|maintainers|dependencies|reliability)/.test(id) ? 0.3 : 1
}

export default {
  title: 'Filigree',
  description,
  lang: 'en',
  // The build copies the pages there and adds the API reference.
  srcDir: '../dist/pages',
  outDir: '../dist/site',
  cacheDir: '../dist/.vitepress',
  // Addresses of an application that runs on the reader's machine.
  ignoreDeadLinks: 'localhostLinks',
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      markdown.use(pictures)
      markdown.use(databaseTabs)
      markdown.use(emptyHeadings)
      markdown.use(repositoryLinks, `${repository}/blob/main`)
    },
  },
  vite: { plugins: [accessibleTheme] },
  // The pages of the API have no file to edit.
  transformPageData: ({ relativePath }) =>
    relativePath.startsWith('api/') ? { frontmatter: { editLink: false } } : undefined,
  themeConfig: {
    nav: [
      { text: 'Tutorial', link: '/tutorial/' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      ...navigation.map(({ text, pages }) => ({
        text,
        collapsed: text !== 'Start' && text !== 'Guides',
        items: pages.map(({ path, title }) => ({ text: title, link: addressOf(path) })),
      })),
      {
        text: 'API',
        collapsed: true,
        items: entries.map(({ name }) => ({ text: name, link: `/api/${name}` })),
      },
    ],
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        miniSearch: { searchOptions: { combineWith: 'AND', boostDocument } },
      },
    },
  },
}
