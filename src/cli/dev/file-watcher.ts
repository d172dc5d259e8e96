/** Watches the sources of a project. Each folder has its own watcher, so that large folders can be ignored. */
import { existsSync, readdirSync, watch, type FSWatcher } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Names of folders without sources. Names that begin with a dot are ignored, too. */
const ignoredFolders = new Set([
  'node_modules',
  'dist',
  'build',
  'data',
  'coverage',
  'vendor',
  'migrations',
])
const testFolders = new Set(['test', 'tests', '__tests__'])

/** Milliseconds in which changes count as one, because editors write a file in several steps. */
const debounceMs = 25

export class FileWatcher {
  readonly #root: string
  readonly #onChange: (files: readonly string[]) => void
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #staticFolders: readonly string[] = []

  /** @param onChange called with paths relative to the root */
  constructor(root: string, onChange: (files: readonly string[]) => void) {
    this.#root = root
    this.#onChange = onChange
    this.#add(root)
  }

  /** Ignores folders of static files, which are read again at each request. */
  ignoreFolders(folders: readonly string[]): void {
    this.#staticFolders = folders.map((folder) => relative(this.#root, folder))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) this.#recordChange(join(folder, name))
      })
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(folder)
      })
      this.#watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !isIgnored(entry.name)) this.#add(join(folder, entry.name))
      }
    } catch {
      // It was deleted again.
    }
  }

  #recordChange(path: string): void {
    const name = relative(this.#root, path)
    const parts = name.split(sep)
    if (parts.some(isIgnored)) return
    if (!/\.\w+$/.test(name)) {
      // A new folder: watch it, too.
      if (existsSync(path)) this.#add(path)
      return
    }
    if (!isSource(parts) || this.#staticFolders.some((folder) => name.startsWith(folder + sep)))
      return
    this.#changed.add(name)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const files = [...this.#changed]
      this.#changed.clear()
      this.#onChange(files)
    }, debounceMs)
  }
}

function isIgnored(name: string): boolean {
  return ignoredFolders.has(name) || (name.startsWith('.') && !name.startsWith('.env'))
}

function isSource(parts: readonly string[]): boolean {
  const name = parts.at(-1) ?? ''
  if (/^\.env/.test(name)) return true
  if (parts.some((part) => testFolders.has(part)) || /\.(?:test|spec)\.\w+$/.test(name))
    return false
  return /\.(?:[cm]?[jt]sx?|json|graphql|sql)$/.test(name)
}
