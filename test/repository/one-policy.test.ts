import { describe, expect, it } from '@jest/globals'
import { readSources } from './source-files.js'

/** Where the rights of records are decided. */
const rooms = ['src/records/rights/', 'src/records/policy/']
const sources = readSources('src').filter(
  ({ path }) => !rooms.some((room) => path.startsWith(room)),
)

/** Files outside of those rooms whose text matches, save those that are named. */
function outside(text: RegExp, ...but: readonly string[]): string[] {
  return sources
    .filter(({ path, text: source }) => text.test(source) && !but.includes(path))
    .map(({ path }) => path)
}

describe('the rights of a record', () => {
  it('are read from its notes in their rooms alone', () => {
    // `@Tool` has an option of the same name.
    const tools = ['src/modules/mcp/catalog.ts', 'src/modules/mcp/record-tools.ts']
    expect(outside(/\boptions\b[^\n]{0,20}\.(?:rows|writes)\b/, ...tools)).toEqual([])
    // It checks the form of what is written there at the start, and decides nothing.
    const check = 'src/records/model/read-columns.ts'
    const destructured = /\{[^}\n]*\b(?:rows|writes)\b[^}\n]*\} = [^\n]*options\b/
    expect(outside(destructured, check)).toEqual([])
    expect(outside(/\bvisibleRows\b/)).toEqual([])
  })

  it('are no access note that a door reads by itself', () => {
    // A controller's own decorator, which is no right of the record's, is read where routes are made of it.
    const routes = [
      'src/bootstrap/plan-routes.ts',
      // Whether a module's own route is open on purpose, which is said and not decided.
      'src/cli/commands/doctor-production.ts',
      // What the documentation says of secured fields, and decides nothing.
      'src/openapi/schemas.ts',
    ]
    const decorators = 'src/auth/decorators.ts'
    expect(outside(/\b(?:readHandlerAccess|classAccess)\(/, decorators, ...routes)).toEqual([])
  })

  it.each(['src/records/rest/', 'src/graphql/'])(
    '%s writes for clients through the policy alone',
    (door) => {
      const calls = /\.(?:createNow|updateNow|deleteNow|insertMany|link|unlink)\(/
      expect(outside(calls).filter((path) => path.startsWith(door))).toEqual([])
    },
  )
})
