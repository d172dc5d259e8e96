/**
 * Migrations in code: imports them, and compiles them for servers without TypeScript. A compiled file
 * begins with the checksum of its source, so that the same database accepts both.
 */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import module, { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dialects } from '../engines/engine-for-url.js'
import {
  builtFolderOf,
  isCodeFile,
  migrationError,
  readMigrations,
  toChecksumLine,
  type CodeMigration,
} from '../records/migrations/migration-files.js'
import { importFile, type LoadFile } from '../records/migrations/migration-module.js'
import type { Terminal } from './command.js'
import { canImport, findLoader } from './load-application.js'
import { isSource } from './project-files.js'

/** @returns a function that imports a migration. For a source that this process cannot import, it imports the compiled file */
export function loadMigrationsWith({
  cwd,
  loadSources,
}: Pick<Terminal, 'cwd' | 'loadSources'>): LoadFile {
  return async (path) => {
    const file = resolve(cwd, path)
    if (!isSource(file)) return importFile(file)
    if (canImport(file)) {
      if (findLoader(file) !== undefined) await loadSources?.(file)
      return importFile(file)
    }
    const built = join(builtFolderOf(dirname(file)), toBuiltName(basename(file)))
    if (existsSync(built)) return importFile(built)
    throw migrationError(
      'MIGRATION_FAILED',
      `${relative(cwd, file)} is TypeScript, which this Node.js cannot load, and ${relative(cwd, built)} does not exist.`,
      'Run filigree migrate build when you build the application, or use Node.js 22.18 or later.',
    )
  }
}

/**
 * Writes a folder with all migrations: SQL files as they are, and code as JavaScript.
 *
 * @returns the paths of the compiled files
 */
export async function buildMigrations(folder: string, target: string): Promise<string[]> {
  const code = await readCode(folder)
  if (code.length === 0) return []
  await mkdir(target, { recursive: true })
  for (const name of await readdir(folder))
    if (/\.(?:sql|json)$/.test(name) || (isCodeFile(name) && !isSource(name)))
      await copyFile(join(folder, name), join(target, name))
  const built: string[] = []
  for (const migration of code.filter(({ file }) => isSource(file))) {
    const file = join(target, toBuiltName(basename(migration.file)))
    await writeFile(file, toChecksumLine(migration) + (await compile(migration.file)))
    built.push(file)
  }
  return built
}

/** Every engine has the same migrations in code. */
async function readCode(folder: string): Promise<readonly CodeMigration[]> {
  const [dialect] = dialects
  return (await readMigrations(folder, dialect?.name ?? '')).codeFiles
}

function toBuiltName(source: string): string {
  return source.replace(/\.[cm]?ts$/, '.mjs')
}

/** The part of esbuild that is used. tsx contains it. */
interface Esbuild {
  readonly transform: (text: string, options: object) => Promise<{ readonly code: string }>
}

/** @throws {DeclarationError} the source has a mistake, or this Node.js and the project have no compiler */
async function compile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8')
  const loader = findLoader(file)
  const { stripTypeScriptTypes } = module as { stripTypeScriptTypes?: (text: string) => string }
  try {
    if (loader !== undefined) {
      const path = createRequire(loader).resolve('esbuild')
      const { transform } = (await import(pathToFileURL(path).href)) as Esbuild
      return (await transform(text, { loader: 'ts', format: 'esm', target: 'es2022' })).code
    }
    if (stripTypeScriptTypes !== undefined) return stripTypeScriptTypes(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw migrationError('MIGRATION_FAILED', `${file}: ${reason}`, 'Correct it.', cause)
  }
  throw migrationError(
    'MIGRATION_FAILED',
    `${file} cannot be compiled, because tsx is not installed.`,
    'Run npm install --save-dev tsx, or use Node.js 22.13 or later.',
  )
}
