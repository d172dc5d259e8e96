/** Files that import each other, type imports included, cannot be understood one by one. */
import { expect, it } from '@jest/globals'
import { readSources, resolveImport } from './source-files.js'

const sources = [...readSources('src'), ...readSources('client')]
const imports = new Map(
  sources.map((file) => [
    file.path,
    file.imports
      .filter(({ from, dynamic }) => from.startsWith('.') && !dynamic)
      .map(({ from }) => resolveImport(file, from)),
  ]),
)

/** The strongly connected components with several files (Tarjan, 1972). */
function findCycles(): string[][] {
  const indexes = new Map<string, number>()
  const lows = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (file: string): number => {
    const index = indexes.size
    indexes.set(file, index)
    lows.set(file, index)
    stack.push(file)
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue
      const isNew = !indexes.has(next)
      if (isNew || stack.includes(next)) {
        const reached = isNew ? visit(next) : (indexes.get(next) ?? index)
        lows.set(file, Math.min(lows.get(file) ?? index, reached))
      }
    }
    const low = lows.get(file) ?? index
    if (low === index) {
      const component = stack.splice(stack.indexOf(file))
      if (component.length > 1) cycles.push(component.sort())
    }
    return low
  }
  for (const file of imports.keys()) if (!indexes.has(file)) visit(file)
  return cycles
}

it('no files import each other', () => {
  expect(findCycles()).toEqual([])
})
