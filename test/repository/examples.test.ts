/**
 * The examples of the documentation compile against the face: an option that is not there, or a member by another name, is
 * found. What an example leaves to its reader (names it does not declare, `…`) is let pass.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import ts from 'typescript'
import { root } from './source-files.js'

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

const face = [
  ...readFileSync(join(root, 'src/index.ts'), 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g),
].flatMap(([, names = '']) => listOf(names))

/** `A, type B, C as D` → A, B, D. */
function listOf(names: string): string[] {
  return names
    .split(',')
    .map((name) => name.trim().replace(/^type /, ''))
    .map((name) => name.split(' as ').pop() ?? '')
    .filter((name) => name !== '')
}

/** The name of an example is its page and line. */
function readExamples(page: string): (readonly [name: string, code: string])[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n([^]*?)^```/gm)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length + 1
    return [`${page.replaceAll('/', ' ')} ${line}.ts`, match[1] ?? '']
  })
}

/** As a whole module: with imports of what it uses of the face, and inside a class where it is a part of one. */
function toModule(code: string): string {
  const whole = code.replaceAll('…', '/* */')
  const declared = new Set([
    ...[...whole.matchAll(/\b(?:class|const|let|function|interface|type) (\w+)/g)].map((m) => m[1]),
    ...[...whole.matchAll(/import (?:type )?\{([^}]*)\}/g)].flatMap((m) => listOf(m[1] ?? '')),
  ])
  const used = face.filter((name) => !declared.has(name) && new RegExp(`\\b${name}\\b`).test(whole))
  const forms = [whole, `${whole}\nclass Example {}`, `class Example {\n${whole}\n}`]
  const best = forms.find((form) => parseProblems(form) === 0) ?? whole
  return `import { ${used.join(', ')} } from 'filigree';${best}\nexport {}\n`
}

function parseProblems(text: string): number {
  const { diagnostics = [] } = ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { experimentalDecorators: true, target: ts.ScriptTarget.ES2023 },
  })
  return diagnostics.filter(({ code }) => !leftToReaders.has(code)).length
}

/** Names that the example does not declare, packages that are not installed here, a handler's `return`, no values yet. */
const leftToReaders: ReadonlySet<number> = new Set([2304, 2307, 2503, 2552, 2693, 18004, 1108])

function compilerOptions(): ts.CompilerOptions {
  const file = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  return {
    ...ts.parseJsonConfigFileContent(file.config, ts.sys, root).options,
    ...{ noEmit: true, incremental: false, declaration: false, declarationMap: false },
    ...{ tsBuildInfoFile: undefined, isolatedModules: false, verbatimModuleSyntax: false },
    ...{
      noImplicitAny: false,
      strictPropertyInitialization: false,
      noUncheckedIndexedAccess: false,
    },
    lib: ['lib.es2023.full.d.ts', 'lib.esnext.disposable.d.ts'],
  }
}

it('compiles every example of the documentation', () => {
  const files = new Map(
    pages
      .flatMap(readExamples)
      .map(([name, code]) => [join(root, 'examples', name), toModule(code)]),
  )
  expect(files.size).toBeGreaterThan(50)
  const options = compilerOptions()
  const host = ts.createCompilerHost(options)
  const read = host.readFile.bind(host)
  const exists = host.fileExists.bind(host)
  const parse = host.getSourceFile.bind(host)
  host.readFile = (path) => files.get(path) ?? read(path)
  host.fileExists = (path) => files.has(path) || exists(path)
  host.getSourceFile = (path, version, ...rest) => {
    const text = files.get(path)
    return text === undefined
      ? parse(path, version, ...rest)
      : ts.createSourceFile(path, text, version)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  const problems = [...files.keys()].flatMap((path) => {
    const file = program.getSourceFile(path)
    return (
      [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
        .filter(({ code }) => !leftToReaders.has(code))
        .map(({ code, messageText, start = 0 }) => {
          const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
          return `${path.slice(root.length)}, line ${line + 1}: ${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
        })
        // A class that is not declared leaves a repository of anything.
        .filter((problem) => !/'object'|<object>'/.test(problem))
    )
  })
  expect(problems).toEqual([])
})
