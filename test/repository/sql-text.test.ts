/** SQL is never read back: what a statement is, it says (src/engines/contract/statement.ts). */
import { describe, expect, it } from '@jest/globals'
import ts from 'typescript'
import { readSources } from './source-files.js'

/** Where SQL may be read, with the reason. */
const readers: Readonly<Record<string, string>> = {
  'src/records/migrations/migration-text.ts': 'migrations are texts that people write',
  'src/engines/sqlite/catalogue.ts': 'the catalogue keeps the texts of `create table`',
  'src/records/schema/constraint-differences.ts':
    'the catalogue keeps defaults as texts, which the database writes in its own way',
  'src/records/schema/difference.ts':
    'the catalogue keeps conditions of indexes as texts, which the database writes in its own way',
  'src/engines/contract/json-sql.ts': 'fills in a form, which is no statement',
  'src/modules/tracing/tracing.ts': 'literals are taken out of the SQL of spans',
  'src/engines/postgres/batching/batched-statement.ts':
    'puts the values of calls in the place of placeholders, until the writer does',
  'src/engines/postgres/planner.ts': 'the command asks for the plans of texts that the server kept',
  'src/engines/sqlite/dialect.ts': 'the command asks for the plans of texts',
  'src/cli/dev/redactor.ts': 'literals are taken out of the SQL that is shown',
  'src/records/scans/scan-log.ts': 'the command asks for the plans of texts',
  'src/records/scans/advise-index.ts': 'the command asks for the plans of texts',
}

const ofText: ReadonlySet<string> = new Set([
  ...['startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'search'],
  ...['match', 'matchAll', 'split', 'replace', 'replaceAll', 'slice', 'substring', 'at', 'charAt'],
])
const ofPattern: ReadonlySet<string> = new Set(['test', 'exec'])

/** Calls that look into a text called `sql`: `sql.startsWith('insert')`, `/from/.exec(statement.sql)`. */
function looksInto(source: ts.SourceFile): string[] {
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
  const looking = new Map(
    readSources('src')
      .map(({ path, text }): [string, string[]] => [
        path,
        looksInto(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)),
      ])
      .filter(([, calls]) => calls.length > 0),
  )

  it('is read back only where that is said, with its reason', () => {
    const others = [...looking].filter(([path]) => readers[path] === undefined)
    expect(Object.fromEntries(others)).toStrictEqual({})
  })

  it('has no reader that does so no longer', () => {
    expect(Object.keys(readers).filter((path) => !looking.has(path))).toStrictEqual([])
  })

  it('of records is put together from trees alone', () => {
    const writers = readSources('src').filter(({ path, imports }) => {
      const isWriter = path.startsWith('src/sql/') || path.startsWith('src/engines/')
      return !isWriter && imports.some(({ from }) => from.endsWith('/sql-text.js'))
    })
    expect(writers.map(({ path }) => path)).toStrictEqual([])
  })
})
