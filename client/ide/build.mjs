/**
 * Builds the GraphQL IDE: GraphiQL with React and the Monaco editor, as `ide.js` and `ide.css`, the workers of the editor, and
 * parts that are loaded when they are needed.
 */
import { build } from 'esbuild'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** @returns the paths of the files in it, for their licences */
export async function buildIde(target) {
  const { metafile } = await build({
    entryPoints: [
      { in: path('./main.ts'), out: 'ide' },
      { in: path('./ide.css'), out: 'ide' },
      { in: 'monaco-editor/esm/vs/editor/editor.worker.js', out: 'editor' },
      { in: 'monaco-editor/esm/vs/language/json/json.worker.js', out: 'json' },
      { in: 'monaco-graphql/esm/graphql.worker.js', out: 'graphql' },
    ],
    outdir: target,
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
  return { inputs: Object.keys(metafile.inputs), outputs: Object.keys(metafile.outputs), metafile }
}
