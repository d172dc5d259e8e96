import { describe, expect, it } from '@jest/globals'
import { readSources } from './source-files.js'

/** The folders that decide the access rules of records. */
const policyFolders = ['src/records/rights/', 'src/records/policy/']
const sources = readSources('src').filter(
  ({ path }) => !policyFolders.some((folder) => path.startsWith(folder)),
)

/** @returns other files whose text matches, except the listed ones */
function outside(text: RegExp, ...except: readonly string[]): string[] {
  return sources
    .filter(({ path, text: source }) => text.test(source) && !except.includes(path))
    .map(({ path }) => path)
}

describe('the rights of a record', () => {
  it('are read from its metadata only in those folders', () => {
    // `@Tool` has an option of the same name.
    const tools = ['src/modules/mcp/catalog.ts', 'src/modules/mcp/record-tools.ts']
    expect(outside(/\boptions\b[^\n]{0,20}\.(?:rows|writes)\b/, ...tools)).toEqual([])
    // It validates the options at the start, and decides nothing.
    const check = 'src/records/model/read-columns.ts'
    const destructured = /\{[^}\n]*\b(?:rows|writes)\b[^}\n]*\} = [^\n]*options\b/
    expect(outside(destructured, check)).toEqual([])
    expect(outside(/\bvisibleRows\b/)).toEqual([])
  })

  it('are not read by an interface itself', () => {
    // The decorators of controllers are read where their routes are planned.
    const routes = [
      'src/bootstrap/plan-routes.ts',
      // Reports whether a route is public on purpose, and decides nothing.
      'src/cli/commands/doctor.ts',
      // Describes secured fields in the documentation, and decides nothing.
      'src/openapi/schemas.ts',
    ]
    const decorators = 'src/auth/decorators.ts'
    expect(outside(/\b(?:readHandlerAccess|classAccess)\(/, decorators, ...routes)).toEqual([])
  })

  it.each(['src/records/rest/', 'src/graphql/'])(
    '%s writes for clients only through the policy',
    (folder) => {
      const calls = /\.(?:createNow|updateNow|deleteNow|insertMany|link|unlink)\(/
      expect(outside(calls).filter((path) => path.startsWith(folder))).toEqual([])
    },
  )
})
