import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readSources, resolveImport, root, type SourceFile } from './source-files.js'

const layers: Readonly<Record<string, number>> = {
  core: 0,
  errors: 0,
  metadata: 1,
  options: 1,
  fields: 2,
  routing: 2,
  http: 3,
  auth: 4,
  extensions: 4,
  openapi: 5,
  engines: 6,
  sql: 7,
  records: 8,
  csv: 9,
  live: 9,
  graphql: 10,
  serving: 11,
  bootstrap: 12,
  cli: 13,
}

const sources = readSources('src')
const client = readSources('client')
const all = [...sources, ...client]

/** The page of the GraphQL IDE is bundled with React and GraphiQL, which nothing else uses. */
const withoutIde = (files: typeof all): typeof all =>
  files.filter(({ path }) => !path.startsWith('client/ide/'))

function folderOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function isOwn(from: string): boolean {
  return from.startsWith('.')
}

/** The page takes the types of its texts from it. The texts themselves come with `language.js`. */
const adminTexts = 'src/modules/admin/texts/english.ts'

describe('the architecture', () => {
  it('has a layer for each folder', () => {
    const folders = new Set(sources.map(({ path }) => folderOf(path)))
    folders.delete('index.ts')
    folders.delete('modules')
    expect([...folders].filter((folder) => !(folder in layers))).toEqual([])
  })

  it('imports only from lower layers', () => {
    const upward = sources.flatMap((file) => {
      if (file.path === 'src/index.ts') return []
      const from = folderOf(file.path)
      if (from === 'modules') return []
      return (
        file.imports
          .filter((imported) => isOwn(imported.from))
          .map((imported) => folderOf(resolveImport(file, imported.from)))
          // Imports of modules are checked by another test.
          .filter(
            (to) => to !== from && to !== 'modules' && !((layers[to] ?? 99) < (layers[from] ?? -1)),
          )
          .map((to) => `${file.path} imports ${to}`)
      )
    })
    expect(upward).toEqual([])
  })

  /** The entries of other modules that a module may import, as applications do. */
  const moduleEntries: Readonly<Record<string, readonly string[]>> = {
    mail: ['src/modules/jobs/jobs.ts'],
  }

  /** Files of modules that commands use: the protocol over standard input, and the statements that manage jobs. */
  const usedByCommands = [
    'src/modules/mcp/methods.ts',
    'src/modules/mcp/protocol.ts',
    'src/modules/jobs/job-table.ts',
  ]

  it('modules import only the public API and themselves, and no other code imports them', () => {
    const moduleOf = (path: string): string | undefined =>
      /^src\/modules\/([^/]+)\//.exec(path)?.[1]
    const odd = sources.flatMap((file) =>
      file.imports
        .filter((imported) => isOwn(imported.from))
        .map((imported) => resolveImport(file, imported.from))
        .filter((to) => {
          const from = moduleOf(file.path)
          if (file.path.startsWith('src/cli/') && usedByCommands.includes(to)) return false
          if (from === undefined) return moduleOf(to) !== undefined
          const entries = moduleEntries[from] ?? []
          return to !== 'src/index.ts' && moduleOf(to) !== from && !entries.includes(to)
        })
        .map((to) => `${file.path} imports ${to}`),
    )
    expect(odd).toEqual([])
  })

  it('the client imports nothing of the server, except the table of the admin page’s texts', () => {
    const outside = withoutIde(client).flatMap((file) =>
      file.imports
        .map(({ from }) => (isOwn(from) ? resolveImport(file, from) : from))
        .filter((to) => !to.startsWith('client/') && to !== adminTexts),
    )
    expect(outside).toEqual([])
  })

  it('the package contains every file that its client modules import', () => {
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly files: readonly string[]
    }
    // Other client modules are bundled.
    const packed = files.flatMap((path) => /^dist\/(client\/[\w-]+)\.js$/.exec(path)?.[1] ?? [])
    const sourceOf = new Map(client.map((file) => [file.path, file]))
    const missing = packed.flatMap((path) => {
      const file = sourceOf.get(`${path}.ts`)
      if (file === undefined) return [`${path}.ts`]
      return file.imports
        .filter(({ from, typeOnly }) => isOwn(from) && !typeOnly)
        .map(({ from }) => resolveImport(file, from))
        .filter((to) => !packed.includes(to.replace(/\.ts$/, '')))
    })
    expect(packed).toContain('client/events')
    expect(missing).toEqual([])
  })

  it('has no circular imports', () => {
    expect(findCircles(all)).toEqual([])
  })

  it('every relative import leads to a file', () => {
    const missing = all.flatMap((file) =>
      file.imports
        .filter(({ from }) => isOwn(from))
        .map(({ from }) => resolveImport(file, from))
        .filter((path) => !existsSync(join(root, path))),
    )
    expect(missing).toEqual([])
  })

  it('imports each package in one file', () => {
    const users = new Map<string, Set<string>>()
    for (const file of withoutIde(all)) {
      for (const { from, typeOnly } of file.imports) {
        if (isOwn(from) || from.startsWith('node:') || typeOnly) continue
        const name = from
          .split('/')
          .slice(0, from.startsWith('@') ? 2 : 1)
          .join('/')
        users.set(name, (users.get(name) ?? new Set()).add(file.path))
      }
    }
    const shared = [...users].filter(([, files]) => files.size > 1)
    expect(shared.map(([name, files]) => [name, [...files]])).toEqual([])
  })

  it('every file begins with a sentence about it', () => {
    const opening = /^(?:#!.*\n)?\/\*\*/
    expect(all.filter(({ text }) => !opening.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('has no barrel files and no files for unrelated helpers', () => {
    const entries = ['src/index.ts', 'client/index.ts']
    const odd = all.filter(
      ({ path }) =>
        /^(?:utils?|helpers?|common|misc)\b/.test(basename(path)) ||
        (basename(path) === 'index.ts' && !entries.includes(path)),
    )
    expect(odd.map(({ path }) => path)).toEqual([])
  })
})

/** @returns circular imports at run time, each as the path of its files */
function findCircles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) {
      circles.push([...trail.slice(start), path].join(' → '))
      return
    }
    const file = byPath.get(path)
    if (file === undefined || done.has(path)) return
    for (const { from, typeOnly } of file.imports) {
      if (!typeOnly && isOwn(from)) visit(resolveImport(file, from), [...trail, path])
    }
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return circles
}

describe('the lock file', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<
      string,
      {
        optionalDependencies?: object
        resolved?: string
        dev?: boolean
        hasInstallScript?: boolean
      }
    >
  }

  it('has no install script except of development dependencies, and of SQLite on Node 20', () => {
    const scripts = Object.entries(lock.packages).filter(
      ([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript === true,
    )
    expect(scripts.map(([path]) => path)).toEqual(['node_modules/better-sqlite3'])
  })

  it('has the packages of every platform, which `npm ci` requires', () => {
    const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {})
        .filter((name) => !(`node_modules/${name}` in lock.packages))
        .filter((name) => !(`${path}/node_modules/${name}` in lock.packages)),
    )
    expect(missing).toEqual([])
  })

  it('installs better-sqlite3 12 only on Node 20, because later versions have node:sqlite', () => {
    expect(lock.packages['node_modules/better-sqlite3']).toMatchObject({
      version: expect.stringMatching(/^12\./),
      optional: true,
      engines: { node: '20.x' },
    })
  })

  it('has no install script in the packages that applications get', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: object
      optionalDependencies?: object
    }
    expect(manifest.optionalDependencies).toBeUndefined()
    expect(Object.keys(manifest.dependencies)).not.toContain('better-sqlite3')
  })

  it('has no download URLs', () => {
    const named = Object.entries(lock.packages).filter(([, { resolved = '' }]) =>
      /^\w+:/.test(resolved),
    )
    expect(named).toEqual([])
  })
})
