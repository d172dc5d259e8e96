/** The Jest transform for the samples: TypeScript, as in applications. Every worker loads its transforms, but few load TypeScript. */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

let compiler
function load() {
  if (compiler !== undefined) return compiler
  const ts = require('typescript')
  const file = join(import.meta.dirname, 'tsconfig.json')
  const { config } = ts.readConfigFile(file, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [] },
    ts.sys,
    import.meta.dirname,
  )
  const compilerOptions = {
    ...options,
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    ...{ incremental: false, tsBuildInfoFile: undefined, noEmit: false, declaration: false },
    ...{ declarationMap: false, sourceMap: false, inlineSourceMap: true, outDir: undefined },
  }
  return (compiler = { ts, compilerOptions })
}

export default {
  process(text, path) {
    const { ts, compilerOptions } = load()
    const { outputText } = ts.transpileModule(text, { fileName: path, compilerOptions })
    return { code: outputText }
  },
  getCacheKey: (text, path) =>
    createHash('sha256')
      .update(`${require('typescript/package.json').version}\n${path}\n${text}`)
      .digest('hex'),
}
