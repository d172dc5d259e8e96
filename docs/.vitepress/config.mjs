/** The documentation as a site: `npm run docs` builds it into dist/site, without network. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { defineConfig } from 'vitepress'

const docs = resolve(import.meta.dirname, '..')
const root = resolve(docs, '..')
const { description, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
export const repository = homepage.replace(/#.*$/, '')

/** @returns the first heading of a page */
export function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(join(docs, page), 'utf8'))?.[1] ?? page
}

const readFolder = (path) => (existsSync(path) ? readdirSync(path) : [])
const entry = (page) => ({ text: titleOf(page), link: `/${page.replace(/\.md$/, '')}` })
const pagesIn = (folder) =>
  readFolder(join(docs, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => join(folder, name))

/** Every page stands in one group; those of no group are the reference. */
export const groups = [
  { text: 'Tutorial', pages: pagesIn('tutorial') },
  { text: 'Recipes', pages: pagesIn('recipes') },
  { text: 'Coming from', pages: pagesIn('.').filter((page) => page.startsWith('coming-from-')) },
  {
    text: 'Reference',
    pages: pagesIn('.').filter(
      (page) => !page.startsWith('coming-from-') && !page.startsWith('index'),
    ),
  },
  { text: 'For maintainers', pages: pagesIn('maintainers') },
]

/** Links out of the documentation lead to the repository, as package.json names it. */
function linkToRepository(markdown) {
  markdown.core.ruler.push('repository', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const to = token.type === 'link_open' ? (token.attrGet('href') ?? '') : ''
      if (!to.startsWith('.')) continue
      const path = relative(root, resolve(docs, dirname(env.relativePath), to))
      if (!path.startsWith('docs')) token.attrSet('href', `${repository}/blob/main/${path}`)
    }
  })
}

export default defineConfig({
  title: 'Filigree',
  description,
  outDir: '../dist/site',
  cacheDir: '../dist/.vitepress-cache',
  cleanUrls: true,
  rewrites: {
    'tutorial/README.md': 'tutorial/index.md',
    'recipes/README.md': 'recipes/index.md',
    'maintainers/README.md': 'maintainers/index.md',
  },
  ignoreDeadLinks: [/^http:\/\/localhost/],
  markdown: { config: linkToRepository },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Tutorial', link: '/tutorial/' },
      { text: 'API', link: '/api/index.html', target: '_self' },
    ],
    sidebar: groups
      .filter(({ pages }) => pages.length > 0)
      .map(({ text, pages }) => ({
        text,
        collapsed: text !== 'Tutorial',
        items: pages.map(entry),
      })),
  },
})
