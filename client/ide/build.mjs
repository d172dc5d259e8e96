/**
 * Builds the GraphQL IDE: GraphiQL with React and the Monaco editor, as `ide.js` and `ide.css`, the workers of the editor, and
 * parts that are loaded when they are needed.
 */
import { build } from 'esbuild'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

/** Features of the editor that operations and JSON do not need. They are a quarter of its size. */
const unusedFeatures =
  /diffEditor|codelens|colorPicker|dropOrPasteInto|inline(?:Completions|Progress|Edits?)\/|inlayHints|linkedEditing|rename|sectionHeaders|stickyScroll|suggestInline|semanticTokens|unicodeHighlighter|inspectTokens|quickAccess|toggleHighContrast|iPad/

const withoutUnusedFeatures = {
  name: 'without-unused-features',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /editor[\\/](?:editor\.all|edcore\.main)\.js$/ }, async ({ path: file }) => {
      const lines = (await readFile(file, 'utf8')).split('\n')
      const isUsed = (line) => !line.startsWith('import') || !unusedFeatures.test(line)
      return { contents: lines.filter(isUsed).join('\n') }
    })
    // The editors of differences are classes that nothing creates.
    onLoad({ filter: /(?:multiD|d)iffEditorWidget\.js$/ }, () => ({
      contents: 'export class DiffEditorWidget {}\nexport class MultiDiffEditorWidget {}',
    }))
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
