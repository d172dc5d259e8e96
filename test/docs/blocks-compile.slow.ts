/** Code blocks of pages that no other suite runs: each block that imports Filigree compiles. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import ts from 'typescript'

const pages = ['authentication', 'jobs', 'live', 'mail', 'passkeys', 'signing-in-with-providers']

const blocks = new Map(
  pages.flatMap((page) => {
    const text = readFileSync(`docs/${page}.md`, 'utf8')
    return [...text.matchAll(/```ts\n(.*?)```/gs)].flatMap(([, block = ''], place) =>
      block.includes("from 'filigree")
        ? [[resolve('test/docs', `${page}-${place}.ts`), `${block}\nexport {}\n`] as const]
        : [],
    )
  }),
)

function findErrors(): string[] {
  const read = ts.readConfigFile('test/tsconfig.json', (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, resolve('test'))
  const compilerOptions = {
    ...options,
    noEmit: true,
    incremental: false,
    tsBuildInfoFile: undefined,
  }
  const host = ts.createCompilerHost(compilerOptions)
  const readFile = host.readFile.bind(host)
  const fileExists = host.fileExists.bind(host)
  host.readFile = (path) => blocks.get(resolve(path)) ?? readFile(path)
  host.fileExists = (path) => blocks.has(resolve(path)) || fileExists(path)
  host.getSourceFile = (path, version) => {
    const text = host.readFile(path)
    return text === undefined ? undefined : ts.createSourceFile(path, text, version)
  }
  const program = ts.createProgram([...blocks.keys()], compilerOptions, host)
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file !== undefined && blocks.has(resolve(file.fileName)))
    .map(({ file, messageText }) => {
      const name = file?.fileName.slice(join(resolve('test/docs'), '/').length)
      return `${name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
}

describe('the blocks of the pages', () => {
  it('exist and compile', () => {
    expect(blocks.size).toBeGreaterThanOrEqual(pages.length)
    expect(findErrors()).toEqual([])
  })
})
