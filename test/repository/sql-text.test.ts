/** No code parses SQL text. A statement has its properties as data (src/engines/contract/statement.ts). */
import { describe, expect, it } from '@jest/globals'
import ts from 'typescript'
import { readSources } from './source-files.js'

/** The files that may parse SQL text, with the reason. */
const allowedFiles: Readonly<Record<string, string>> = {
  'src/records/migrations/migration-text.ts': 'migrations are written by people',
  'src/engines/sqlite/catalogue.ts': 'the catalogue stores the text of `create table`',
  'src/engines/sqlite/table-text.ts': 'the catalogue stores checks in the text of `create table`',
  'src/cli/pull/check-expressions.ts': 'the catalogue stores checks as text',
  'src/engines/sqlite/dropped-parts.ts': 'changes of the schema, which may be written by people',
  'src/records/schema/constraint-differences.ts':
    'the catalogue stores defaults as text, which the database formats',
  'src/records/schema/index-differences.ts':
    'the catalogue stores conditions of indexes as text, which the database formats',
  'src/engines/contract/any-json.ts': 'fills in a template, not a statement',
  'src/modules/tracing/tracing.ts': 'removes literals from the SQL of spans',
  'src/engines/postgres/planner.ts': 'the command gets the plans of stored statements',
  'src/engines/sqlite/dialect.ts': 'the command gets the plans of statements',
  'src/serving/redaction/redactor.ts': 'removes literals from displayed SQL',
  'src/records/scan-advice.ts': 'gives advice on any statement by its query plan',
}

const ofText: ReadonlySet<string> = new Set([
  ...['startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'search'],
  ...['match', 'matchAll', 'split', 'replace', 'replaceAll', 'slice', 'substring', 'at', 'charAt'],
])
const ofPattern: ReadonlySet<string> = new Set(['test', 'exec'])

/** @returns calls that parse a text called `sql`: `sql.startsWith('insert')`, `/from/.exec(statement.sql)`. */
function findParsing(source: ts.SourceFile): string[] {
  const found: string[] = []
  const isSql = (node: ts.Node | undefined): boolean =>
    node !== undefined &&
    /(?:^|\.)(?:sql|sqlText|query\.text)(?:\.trim(?:Start|End)?\(\))?$/i.test(node.getText(source))
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: on, name } = node.expression
      const isRead =
        (ofText.has(name.text) && isSql(on)) ||
        (ofPattern.has(name.text) &&
          !/database$/.test(on.getText(source)) &&
          isSql(node.arguments[0]))
      if (isRead) found.push(node.getText(source))
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

describe('SQL', () => {
  const parsing = new Map(
    readSources('src')
      .map(({ path, text }): [string, string[]] => [
        path,
        findParsing(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)),
      ])
      .filter(([, calls]) => calls.length > 0),
  )

  it('is parsed only in the listed files', () => {
    const unlisted = [...parsing].filter(([path]) => allowedFiles[path] === undefined)
    expect(Object.fromEntries(unlisted)).toStrictEqual({})
  })

  it('is parsed in every listed file', () => {
    expect(Object.keys(allowedFiles).filter((path) => !parsing.has(path))).toStrictEqual([])
  })

  it('of records is made only from query trees', () => {
    const writers = readSources('src').filter(({ path, imports }) => {
      const isWriter = path.startsWith('src/sql/') || path.startsWith('src/engines/')
      return !isWriter && imports.some(({ from }) => from.endsWith('/sql-text.js'))
    })
    expect(writers.map(({ path }) => path)).toStrictEqual([])
  })
})
