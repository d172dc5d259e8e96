/** Only the engines contain SQL of one database, so no other code may check which engine it is. Source: docs/maintainers/engines.md. */
import { describe, expect, it } from '@jest/globals'
import ts from 'typescript'
import { readSources } from './source-files.js'

/** The folder that may name engines. */
const enginesFolder = 'src/engines/'
/** Commands whose help shows what users write. */
const helpTexts = [
  'src/cli/commands/backup.ts',
  'src/cli/commands/changes.ts',
  'src/cli/commands/copy.ts',
  'src/cli/commands/new.ts',
  'src/cli/commands/pull.ts',
]

describe('outside engines/', () => {
  it('no code names an engine', () => {
    const named = readSources('src')
      .filter(({ path }) => !path.startsWith(enginesFolder) && path !== 'src/index.ts')
      .filter(({ path }) => !helpTexts.includes(path))
      .flatMap(({ path, text }) => namesIn(text).map((name) => `${path}: ${name}`))
    expect(named).toEqual([])
  })
})

/** @returns the identifiers and texts that name an engine. Comments are not checked */
function namesIn(text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isLiteralExpression(node) || isTemplatePart(node)) {
      const word = node.text
      if (/sqlite|postgres|pglite/i.test(word)) found.push(word)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest))
  return found
}

function isTemplatePart(node: ts.Node): node is ts.TemplateLiteralLikeNode {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)
}
