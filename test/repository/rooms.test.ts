/** Inside a room imports lead down too, from folder to folder, those of types included: so no circle of folders can be. */
import { describe, expect, it } from '@jest/globals'
import { readSources, resolveImport } from './source-files.js'

/**
 * The folders of a room, the lowest first; `.` is the files in the room itself, of which those that stand on another floor
 * are named.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  engines: ['contract', '.', 'sqlite', 'postgres', 'pglite', 'engine-for-url.ts'],
  records: [
    ...['model', 'rights', 'filters', 'budget', 'changes', 'statements', 'aggregates'],
    ...['schema', 'policy', '.', 'clients', 'scans', 'migrations', 'rest'],
  ],
  graphql: [
    ...['.', 'records', 'planner', 'generate-records.ts', 'graphql.ts'],
    ...['live-query.ts', 'endpoint.ts', 'graphql-endpoints.ts', 'root-interceptors.ts'],
    'subscription-body.ts',
  ],
}

describe.each(Object.entries(rooms))('src/%s', (room, floors) => {
  const placeOf = (path: string): string => {
    const [first = '', ...rest] = path.split('/').slice(2)
    if (rest.length > 0) return first
    return floors.includes(first) ? first : '.'
  }
  const files = readSources(`src/${room}`)
  const steps = files.flatMap((file) =>
    file.imports
      .map(({ from }) => resolveImport(file, from))
      .filter((to) => to.startsWith(`src/${room}/`))
      .map((to) => ({ from: placeOf(file.path), to: placeOf(to), line: `${file.path} → ${to}` })),
  )
  const up = steps.filter(({ from, to }) => floors.indexOf(to) > floors.indexOf(from))

  it('has a floor for each folder', () => {
    const places = new Set(files.map(({ path }) => placeOf(path)))
    expect([...places].sort()).toEqual([...floors].sort())
  })

  it('imports lower floors only', () => {
    expect(up.map(({ line }) => line)).toEqual([])
  })
})
