/** Imports between the folders of `src/engines`, `src/records` and `src/graphql` lead only to lower layers, including type imports. */
import { describe, expect, it } from '@jest/globals'
import { readSources, resolveImport } from './source-files.js'

/**
 * The layers of a folder, the lowest first. `.` is the files in the folder itself, except the listed ones, which are
 * layers themselves.
 */
const folders: Readonly<Record<string, readonly string[]>> = {
  engines: ['contract', '.', 'sqlite', 'postgres', 'pglite', 'engine-for-url.ts'],
  records: [
    ...['model', 'rights', 'filters', 'budget', 'changes', 'statements', 'aggregates'],
    ...['schema', 'policy', '.', 'clients', 'migrations', 'copy', 'rest'],
  ],
  graphql: [
    ...['.', 'records', 'planner', 'generate-records.ts', 'graphql.ts'],
    ...['live-query.ts', 'endpoint.ts', 'graphql-endpoints.ts', 'root-interceptors.ts'],
  ],
}

describe.each(Object.entries(folders))('src/%s', (folder, layers) => {
  const layerOf = (path: string): string => {
    const [first = '', ...rest] = path.split('/').slice(2)
    if (rest.length > 0) return first
    return layers.includes(first) ? first : '.'
  }
  const files = readSources(`src/${folder}`)
  const steps = files.flatMap((file) =>
    file.imports
      .map(({ from }) => resolveImport(file, from))
      .filter((to) => to.startsWith(`src/${folder}/`))
      .map((to) => ({ from: layerOf(file.path), to: layerOf(to), line: `${file.path} → ${to}` })),
  )
  const up = steps.filter(({ from, to }) => layers.indexOf(to) > layers.indexOf(from))

  it('has a layer for each folder', () => {
    const usedLayers = new Set(files.map(({ path }) => layerOf(path)))
    expect([...usedLayers].sort()).toEqual([...layers].sort())
  })

  it('imports only from lower layers', () => {
    expect(up.map(({ line }) => line)).toEqual([])
  })
})
