/**
 * Builds the documentation into dist/site, without network: the pages with a search, each also as Markdown beside it, the
 * reference of the face from its docstrings below /api, and llms.txt and llms-full.txt for programs that read.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Application } from 'typedoc'
import { build } from 'vitepress'
import { groups, repository, titleOf } from './config.mjs'

const root = resolve(import.meta.dirname, '../..')
const site = join(root, 'dist/site')
const { description, exports: entries } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)
/** The source of each entry of the package that has types: their declarations lie as their sources do. */
const sources = Object.values(entries).flatMap(({ types }) =>
  types === undefined ? [] : [types.replace('./dist/', '').replace('.d.ts', '.ts')],
)
const pages = groups.flatMap(({ pages }) => pages)

await build(join(root, 'docs'))

for (const page of pages) {
  const target = join(site, page)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(root, 'docs', page), target)
}

const lists = groups
  .filter(({ pages }) => pages.length > 0)
  .map(
    ({ text, pages }) =>
      `## ${text}\n\n${pages.map((page) => `- [${titleOf(page)}](/${page})`).join('\n')}\n`,
  )
writeFileSync(join(site, 'llms.txt'), `# Filigree\n\n> ${description}\n\n${lists.join('\n')}`)
const texts = pages
  .filter((page) => !page.startsWith('maintainers'))
  .map((page) => `<!-- ${page} -->\n\n${readFileSync(join(root, 'docs', page), 'utf8')}`)
writeFileSync(join(site, 'llms-full.txt'), texts.join('\n\n'))

const reference = await Application.bootstrap({
  name: 'Filigree',
  entryPoints: sources.map((path) => join(root, path)),
  tsconfig: join(root, 'tsconfig.json'),
  readme: 'none',
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  skipErrorChecking: true,
  disableGit: true,
  sourceLinkTemplate: `${repository}/blob/main/{path}#L{line}`,
  logLevel: 'Error',
})
const project = await reference.convert()
if (project === undefined) throw new Error('The reference could not be made.')
await reference.generateDocs(project, join(site, 'api'))
