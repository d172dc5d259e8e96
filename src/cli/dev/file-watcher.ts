/** Watches the sources of a project: every folder by itself, since large ones are left out. */
import { existsSync, readdirSync, watch, type FSWatcher } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Folders that hold no sources, by name; those that begin with a dot neither. */
const left = new Set(['node_modules', 'dist', 'build', 'data', 'coverage', 'vendor', 'migrations'])
const tests = new Set(['test', 'tests', '__tests__'])

/** Milliseconds in which changes count as one: editors write a file in several steps. */
const calm = 25

export class FileWatch {
  readonly #root: string
  readonly #tell: (files: readonly string[]) => void
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #served: readonly string[] = []

  /** @param tell called with paths relative to the folder */
  constructor(root: string, tell: (files: readonly string[]) => void) {
    this.#root = root
    this.#tell = tell
    this.#add(root)
  }

  /** Folders whose files are read anew at each request. */
  leaveOut(folders: readonly string[]): void {
    this.#served = folders.map((folder) => relative(this.#root, folder))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) this.#note(join(folder, name))
      })
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(folder)
      })
      this.#watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !isLeft(entry.name)) this.#add(join(folder, entry.name))
      }
    } catch {
      // It is gone again.
    }
  }

  #note(path: string): void {
    const name = relative(this.#root, path)
    const parts = name.split(sep)
    if (parts.some(isLeft)) return
    if (!/\.\w+$/.test(name)) {
      // A new folder: what is in it counts as changed.
      if (existsSync(path)) this.#add(path)
      return
    }
    if (!isSource(parts) || this.#served.some((folder) => name.startsWith(folder + sep))) return
    this.#changed.add(name)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const files = [...this.#changed]
      this.#changed.clear()
      this.#tell(files)
    }, calm)
  }
}

function isLeft(name: string): boolean {
  return left.has(name) || (name.startsWith('.') && !name.startsWith('.env'))
}

function isSource(parts: readonly string[]): boolean {
  const name = parts.at(-1) ?? ''
  if (/^\.env/.test(name)) return true
  if (parts.some((part) => tests.has(part)) || /\.(?:test|spec)\.\w+$/.test(name)) return false
  return /\.(?:[cm]?[jt]sx?|json|graphql|sql)$/.test(name)
}
