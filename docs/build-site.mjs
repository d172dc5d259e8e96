/**
 * Builds the documentation into dist/site, without network: every page and the reference of the face, made of its docstrings,
 * with one search over both; each page as Markdown beside it; llms.txt and llms-full.txt for programs that read.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Application, Converter } from 'typedoc'

const docs = import.meta.dirname
const root = resolve(docs, '..')
const site = join(root, 'dist/site')
const { description, homepage, exports: entries } = readJson('package.json')
const repository = homepage.replace(/#.*$/, '')

const pagesIn = (folder) =>
  readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join(folder, name))

/** Every page stands in one group; those of no other are the reference. */
const isComing = (page) => page.startsWith('coming-from-')
const groups = [
  { text: 'Tutorial', pages: pagesIn('tutorial') },
  { text: 'Recipes', pages: pagesIn('recipes') },
  { text: 'Coming from', pages: pagesIn('.').filter(isComing) },
  { text: 'Records', pages: pagesIn('records') },
  { text: 'Reference', pages: pagesIn('.').filter((page) => !isComing(page)) },
  { text: 'For maintainers', pages: pagesIn('maintainers') },
]
const pages = groups.flatMap(({ pages }) => pages)

await buildPages()
for (const page of pages) {
  const target = join(site, 'pages', page)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(docs, page), target)
}
writeTexts()

async function buildPages() {
  const application = await Application.bootstrap({
    name: 'Filigree',
    // The source of each entry of the package that has types: their declarations lie as their sources do.
    entryPoints: Object.values(entries)
      .flatMap(({ types }) => types ?? [])
      .map((types) => join(root, types.replace('./dist/', '').replace(/\.d\.ts$/, '.ts'))),
    tsconfig: join(root, 'tsconfig.json'),
    readme: join(root, 'README.md'),
    projectDocuments: pages.map((page) => join(docs, page)),
    categoryOrder: groups.map(({ text }) => text),
    navigation: { includeCategories: true },
    searchInDocuments: true,
    searchInComments: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    disableGit: true,
    sourceLinkTemplate: `${repository}/blob/main/{path}#L{line}`,
    basePath: root,
    logLevel: 'Error',
  })
  application.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const page = relative(docs, document.project.files.getReflectionPath(document) ?? '')
    document.name = titleOf(page)
    document.frontmatter.category = groups.find(({ pages }) => pages.includes(page))?.text
  })
  const project = await application.convert()
  if (project === undefined) throw new Error('The reference could not be made.')
  await application.generateDocs(project, site)
}

function writeTexts() {
  const lists = groups.map(
    ({ text, pages }) =>
      `## ${text}\n\n${pages.map((page) => `- [${titleOf(page)}](pages/${page})`).join('\n')}\n`,
  )
  writeFileSync(join(site, 'llms.txt'), `# Filigree\n\n> ${description}\n\n${lists.join('\n')}`)
  const texts = pages
    .filter((page) => !page.startsWith('maintainers'))
    .map((page) => `<!-- ${page} -->\n\n${readFileSync(join(docs, page), 'utf8')}`)
  writeFileSync(join(site, 'llms-full.txt'), texts.join('\n\n'))
}

/** @returns the first heading of a page */
function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(join(docs, page), 'utf8'))?.[1] ?? page
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}
