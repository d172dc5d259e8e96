/** Explains the error that Node.js throws if files import each other and one uses a class before it is defined. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Problem } from './declaration-error.js'
import { displayPath, findSourcePosition } from './source-position.js'

/** Maximum number of files to search for the cycle. */
const maxFiles = 2_000

/** @returns undefined for other errors, and for errors inside installed packages */
export function findImportCycle(error: unknown): Problem | undefined {
  if (!(error instanceof Error) || error.name !== 'ReferenceError') return undefined
  const [, used] = /^Cannot access '([\w$]+)' before initialization/.exec(error.message) ?? []
  const location = findSourcePosition(error.stack ?? '')
  if (used === undefined || location === undefined) return undefined
  const { file, line } = location
  const where = `${displayPath(file)}:${line}`
  const source = readSource(file)
  if (
    new RegExp(
      `^\\s*(?:export\\s+)?(?:default\\s+)?(?:abstract\\s+)?(?:class|let|const)\\s+${escaped(used)}\\b`,
      'm',
    ).test(source)
  )
    return {
      code: 'NOT_DEFINED_YET',
      message: `${where} uses ${used}, which is declared further down in the file.`,
      remedy: `Move ${used} up, or write () => ${used}.`,
    }
  const cycle = findCycle(file, used)
  const files = cycle === undefined ? '' : `: ${[...cycle, file].map(displayPath).join(' → ')}`
  return {
    code: 'IMPORT_CYCLE',
    message: `${where} uses ${used} before it is defined, because files import each other${files}.`,
    remedy: `Write () => ${used} in the decorator (and Rel<${used}> as the type of a relation), or move what both files need into a third one.`,
  }
}

/**
 * Finds the shortest path from the file back to itself. It begins with the import of the name, if that import is found.
 */
function findCycle(file: string, used: string): string[] | undefined {
  const imports = importsOf(file)
  const named = imports.filter(({ names }) =>
    new RegExp(`(?<![\\w$])${escaped(used)}(?![\\w$])`).test(names),
  )
  const before = new Map<string, string>()
  const queue = (named.length > 0 ? named : imports).map(({ path }) => path)
  for (const path of queue) before.set(path, file)
  for (const path of queue) {
    if (before.size > maxFiles) return undefined
    for (const { path: next } of path === file ? [] : importsOf(path)) {
      if (next === file) return wayTo(path, file, before)
      if (before.has(next)) continue
      before.set(next, path)
      queue.push(next)
    }
  }
  return undefined
}

function wayTo(last: string, first: string, before: ReadonlyMap<string, string>): string[] {
  const way = [last]
  for (let path = before.get(last); path !== undefined && path !== first; path = before.get(path))
    way.unshift(path)
  return [first, ...way]
}

/** Lists the application's files that a file imports when it is loaded. Type imports are excluded. */
function importsOf(file: string): { readonly names: string; readonly path: string }[] {
  const found = readSource(file).matchAll(
    /^\s*(?:import|export)\s(?!type\s)([^'"`;]*?)(?:from\s*)?['"](\.{1,2}\/[^'"]*)['"]/gm,
  )
  return [...found].flatMap(([, names = '', specifier = '']) => {
    const path = resolveImport(file, specifier)
    return path === undefined ? [] : [{ names, path }]
  })
}

function resolveImport(from: string, specifier: string): string | undefined {
  const path = resolve(dirname(from), specifier)
  const candidates = [path, path.replace(/js(x?)$/, 'ts$1'), `${path}.ts`, `${path}.js`]
  return candidates.find((each) => /\.\w+$/.test(each) && existsSync(each))
}

function readSource(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function escaped(name: string): string {
  return name.replaceAll('$', '\\$')
}
