/** Reads the source files of this repository and their imports. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = normalize(join(dirname(fileURLToPath(import.meta.url)), '..', '..'))

export interface Import {
  /** The specifier as written. */
  readonly from: string
  /** Whether the import is removed at run time. */
  readonly typeOnly: boolean
  readonly dynamic: boolean
}

export interface SourceFile {
  /** From the root, e.g. `src/http/reply.ts`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

export function readSources(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .filter((name) => !name.includes('node_modules/'))
    .map((name) => {
      const path = join(folder, name)
      const text = readFileSync(join(root, path), 'utf8')
      return { path, text, imports: readImports(text) }
    })
}

/** The file a relative import leads to. */
export function resolveImport(file: SourceFile, from: string): string {
  return relative(root, join(root, dirname(file.path), from)).replace(/\.js$/, '.ts')
}

const statement = /^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'/gm
const call = /\b(?:import|createRequire\([^)]*\))\(\s*'([^']+)'/g

function readImports(text: string): Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '')
  return [
    ...[...code.matchAll(statement)].map((match) => ({
      from: match[2] ?? '',
      typeOnly: match[1] !== undefined || isTypeList(match[0]),
      dynamic: false,
    })),
    ...[...code.matchAll(call)].map((match) => ({
      from: match[1] ?? '',
      typeOnly: false,
      dynamic: true,
    })),
  ]
}

/** `import { type A, type B } from …` */
function isTypeList(text: string): boolean {
  const names = /\{([^}]*)\}/.exec(text)?.[1]
  if (names === undefined) return false
  const list = names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return list.length > 0 && list.every((name) => name.startsWith('type '))
}
