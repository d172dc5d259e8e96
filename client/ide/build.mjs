/**
 * Builds the GraphQL IDE: GraphiQL with React and the Monaco editor, as `ide.js` and `ide.css`, the workers of the editor, and
 * parts that are loaded when they are needed. The built page is in the repository, in `page`, so that a build of the framework
 * does not need these packages (100 MB). After a change here, run `npm run ide`.
 */
import { build } from 'esbuild'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compressFiles, readLicences } from '../../src/bundle-files.mjs'
import { hashSources } from './hash-sources.mjs'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

/** Features of the editor that operations and JSON do not need. They are a quarter of its size. */
const unusedFeatures =
  /anchorSelect|diffEditor|codelens|colorPicker|documentSymbols|dropOrPasteInto|fontZoom|inline(?:Completions|Progress|Edits?)\/|inlayHints|inPlaceReplace|linkedEditing|parameterHints|referenceSearch|rename|sectionHeaders|stickyScroll|suggestInline|semanticTokens|unicodeHighlighter|unusualLine|wordPart|inspectTokens|quickAccess|toggleHighContrast|iPad/

/** Modules that nothing uses without these features, although others import them. */
const replacements = [
  [
    /(?:multiD|d)iffEditorWidget\.js$/,
    'export class DiffEditorWidget {}\nexport class MultiDiffEditorWidget {}',
  ],
  [/[\\/]linesDiffComputers\.js$/, 'export const linesDiffComputers = {}'],
  // GraphiQL shows no overview of the text.
  [
    /viewParts[\\/]minimap[\\/]minimap\.js$/,
    `import { createFastDomNode } from '../../../../base/browser/fastDomNode.js'
import { ViewPart } from '../../view/viewPart.js'
export class Minimap extends ViewPart {
  #node = createFastDomNode(document.createElement('div'))
  getDomNode() { return this.#node }
  prepareRender() {}
  render() {}
}`,
  ],
  // The palette of commands.
  [/standaloneQuickInputService\.js$/, 'export class StandaloneQuickInputService {}'],
  // Lists of references, and the trees that show them.
  [
    /peek[\\/]referencesController\.js$/,
    'export class ReferencesController { static get() { return null } }',
  ],
  [
    /list[\\/]browser[\\/]listService\.js$/,
    "import { createDecorator } from '../../instantiation/common/instantiation.js'\nexport const IListService = createDecorator('listService')\nexport class ListService {}",
  ],
]

/** The menu of the references, which would be empty. */
const referencesMenu =
  /MenuRegistry\.appendMenuItem\(MenuId\.EditorContext, \{\s+submenu: MenuId\.EditorContextPeek,[^]*?\}\);/

const withoutUnusedFeatures = {
  name: 'without-unused-features',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /editor[\\/](?:editor\.all|edcore\.main)\.js$/ }, async ({ path: file }) => {
      const lines = (await readFile(file, 'utf8')).split('\n')
      const isUsed = (line) => !line.startsWith('import') || !unusedFeatures.test(line)
      return { contents: lines.filter(isUsed).join('\n') }
    })
    for (const [filter, contents] of replacements)
      onLoad({ filter }, ({ path: file }) => ({ contents, resolveDir: dirname(file) }))
    onLoad({ filter: /goToCommands\.js$/ }, async ({ path: file }) => ({
      contents: (await readFile(file, 'utf8')).replace(referencesMenu, ''),
    }))
    // Tabs cannot be dragged: that would take 130 kB.
    onResolve({ filter: /^framer-motion$/ }, () => ({ path: path('./reorder.ts') }))
    // All styles are in `ide.css`.
    onResolve({ filter: /\.css$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'none', namespace: 'styles' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'styles' }, () => ({ contents: '' }))
    // JSON is formatted by a package that GraphiQL contains anyway, so the parsers of JavaScript are left out.
    onResolve({ filter: /^prettier\/standalone$/ }, ({ importer }) =>
      importer.endsWith('format.ts') ? undefined : { path: path('./format.ts') },
    )
    onResolve({ filter: /^prettier\/(?:parser-babel|plugins\/estree)$/ }, () => ({
      path: path('./format.ts'),
    }))
  },
}

const page = path('./page')
await rm(page, { recursive: true, force: true })
const { metafile } = await build({
  entryPoints: [
    { in: path('./main.ts'), out: 'ide' },
    { in: path('./ide.css'), out: 'ide' },
    { in: path('./node_modules/monaco-editor/esm/vs/editor/editor.worker.js'), out: 'editor' },
    { in: path('./node_modules/monaco-editor/esm/vs/language/json/json.worker.js'), out: 'json' },
    { in: path('./node_modules/monaco-graphql/esm/graphql.worker.js'), out: 'graphql' },
  ],
  outdir: page,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  define: { 'process.env.NODE_ENV': '"production"' },
  alias: { 'prettier/parser-graphql': 'prettier/plugins/graphql' },
  loader: { '.ttf': 'file' },
  plugins: [withoutUnusedFeatures],
  legalComments: 'none',
  metafile: true,
  logLevel: 'error',
})
await writeFile(`${page}/LICENCES.txt`, await readLicences(Object.keys(metafile.inputs)))
await writeFile(`${page}/source.txt`, `${hashSources()}\n`)
await compressFiles(page)
