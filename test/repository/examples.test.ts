/**
 * Compiles the examples of the documentation with the public types, to find unknown options and members. Errors that are left
 * to the reader (undeclared names, `…`) are ignored.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import ts from 'typescript'
import { root } from './source-files.js'

const pages = [
  'README.md',
  ...[
    ...readdirSync(join(root, 'docs')),
    ...readdirSync(join(root, 'docs/records')).map((name) => `records/${name}`),
  ]
    // The pages that compare libraries are compiled unchanged by test/docs.
    .filter((name) => name.endsWith('.md') && !name.startsWith('coming-from-'))
    .map((name) => `docs/${name}`),
]

const exportedNames = [
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

/** @returns the examples of a page, named after the page and the line */
function readExamples(page: string): (readonly [name: string, code: string])[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n([^]*?)^```/gm)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length + 1
    return [`${page.replaceAll('/', ' ')} ${line}.ts`, match[1] ?? '']
  })
}

/** Completes an example to a module: adds imports of the exports it uses, and a class around it if it is a part of one. */
function toModule(code: string): string {
  const completed = code.replaceAll('…', '/* */')
  const declared = new Set([
    ...[...completed.matchAll(/\b(?:class|const|let|function|interface|type) (\w+)/g)].map(
      (m) => m[1],
    ),
    ...[...completed.matchAll(/import (?:type )?\{([^}]*)\}/g)].flatMap((m) => listOf(m[1] ?? '')),
  ])
  const used = exportedNames.filter(
    (name) => !declared.has(name) && new RegExp(`\\b${name}\\b`).test(completed),
  )
  const forms = [completed, `${completed}\nclass Example {}`, `class Example {\n${completed}\n}`]
  const best = forms.find((form) => parseProblems(form) === 0) ?? completed
  return `import { ${used.join(', ')} } from 'filigree';${best}\nexport {}\n`
}

function parseProblems(text: string): number {
  const { diagnostics = [] } = ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { experimentalDecorators: true, target: ts.ScriptTarget.ES2023 },
  })
  return diagnostics.filter(({ code }) => !leftToReaders.has(code)).length
}

/** Error codes that are ignored: undeclared names (2593: of a test runner), packages that are not installed (2307) and what they infer (2571), `return` outside a function, uninitialized variables. */
const leftToReaders: ReadonlySet<number> = new Set([
  2304, 2593, 2307, 2571, 2503, 2552, 2693, 18004, 1108,
])

/** Inside the repository, so that packages are found. */
const folder = join(root, 'dist', `examples-${process.pid}`)
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const settings = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    ...{ rootDir: '../..', noEmit: true, incremental: false, isolatedModules: false },
    ...{ declaration: false, declarationMap: false, verbatimModuleSyntax: false },
    ...{ noImplicitAny: false, strictPropertyInitialization: false },
    noUncheckedIndexedAccess: false,
    lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
  },
  include: ['*.ts'],
  exclude: [],
}

it('compiles every example of the documentation', () => {
  const files = pages.flatMap(readExamples)
  expect(files.length).toBeGreaterThan(50)
  mkdirSync(folder, { recursive: true })
  for (const [name, code] of files) writeFileSync(join(folder, name), toModule(code))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  // TypeScript 7 is the faster of the two compilers.
  const compiler = join(root, 'node_modules/typescript7/bin/tsc')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [compiler, '-p', folder, '--pretty', 'false'],
    { encoding: 'utf8', cwd: folder },
  )
  expect(stderr).toBe('')
  const problems = stdout
    .split(/\n(?! )/)
    .filter((problem) => problem !== '')
    .filter((problem) => !leftToReaders.has(Number(/error TS(\d+)/.exec(problem)?.[1])))
    // With an undeclared class, repositories have the type `object`.
    .filter((problem) => !/'object'|<object>'/.test(problem))
  expect(problems).toEqual([])
})
