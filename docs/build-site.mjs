/**
 * Builds the documentation site into dist/site, without network: the pages of this folder, the API reference made of the
 * docstrings, each page as Markdown, and llms.txt and llms-full.txt for programs that read.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Application } from 'typedoc'
import { build } from 'vitepress'
import site, { entries, navigation, repository } from './.vitepress/config.mjs'

const docs = import.meta.dirname
const root = resolve(docs, '..')
const [source, target] = [join(root, 'dist/pages'), join(root, 'dist/site')]

rmSync(source, { recursive: true, force: true })
cpSync(docs, source, {
  recursive: true,
  filter: (path) => !/\.vitepress$|node_modules$|\.(?:mjs|json)$/.test(path),
})
await writeReference()
await build(docs)
for (const { path } of navigation.flatMap(({ pages }) => pages)) {
  mkdirSync(dirname(join(target, 'pages', path)), { recursive: true })
  writeFileSync(join(target, 'pages', path), readText(path))
}
writeTexts()

/** Writes a page for each symbol that the package exports. */
async function writeReference() {
  // Declarations have the names of their sources.
  const modules = entries.map(({ name, types }) => ({ name, file: types.slice(7, -5) }))
  const application = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    name: 'API',
    entryPoints: modules.map(({ file }) => join(root, `${file}.ts`)),
    tsconfig: join(root, 'tsconfig.json'),
    // `npm run typecheck` does that.
    skipErrorChecking: true,
    readme: 'none',
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    disableGit: true,
    sourceLinkTemplate: `${repository}/blob/main/{path}#L{line}`,
    basePath: root,
    // The default is `docs`, and TypeDoc empties the folder.
    outputs: [{ name: 'markdown', path: join(source, 'api') }],
    router: 'module',
    entryFileName: 'index',
    hidePageHeader: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    logLevel: 'Error',
  })
  const project = await application.convert()
  if (project === undefined) throw new Error('TypeDoc could not read the sources.')
  for (const module of project.children)
    module.name = modules.find(({ file }) => file.replace(/\/index$/, '') === module.name).name
  await application.generateOutputs(project)
  for (const { name } of modules) mendAnchors(join(source, 'api', `${name}.md`))
}

/** TypeDoc numbers `GraphqlLimits` after `GraphQL.limits`, which has no heading on the page. */
function mendAnchors(file) {
  const text = readFileSync(file, 'utf8')
  const headings = [...text.matchAll(/^#+ (\w+)(?:\(\))?$/gm)].map(([, title]) =>
    title.toLowerCase(),
  )
  const mended = text.replace(/\]\(#(\w+)-1\)/g, (link, name) => {
    const isOnly = headings.filter((heading) => heading === name).length === 1
    return isOnly && !text.includes(`id="${name}-1"`) ? `](#${name})` : link
  })
  writeFileSync(file, mended)
}

/** @returns a page without the words for the search at its beginning */
function readText(path) {
  return readFileSync(join(docs, path), 'utf8').replace(/^---\n[^]*?\n---\n+/, '')
}

function writeTexts() {
  const lists = navigation.map(
    ({ text, pages }) =>
      `## ${text}\n\n${pages.map(({ path, title }) => `- [${title}](pages/${path})`).join('\n')}\n`,
  )
  writeFileSync(
    join(target, 'llms.txt'),
    `# Filigree\n\n> ${site.description}\n\n${lists.join('\n')}`,
  )
  const texts = navigation
    .flatMap(({ pages }) => pages)
    .filter(({ path }) => !path.startsWith('maintainers'))
    .map(({ path }) => `<!-- ${path} -->\n\n${readText(path)}`)
  writeFileSync(join(target, 'llms-full.txt'), texts.join('\n\n'))
}
