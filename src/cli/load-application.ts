/**
 * Loads an application's module and opens its database, without starting the application. The file exports the module, or
 * calls `bootstrap` with it.
 */

import { isJobRecord } from '../bootstrap/learn-secrets.js'
import { existsSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { type Class, isClass } from '../metadata/class.js'
import { UsageError, type Terminal } from './command.js'
import { toDatabaseOptions, type ClosedChoice } from '../bootstrap/storage.js'
import { planApplication, type ApplicationPlan } from '../bootstrap/plan-application.js'
import { silentLog, type Log } from '../core/log.js'
import { createDatabase } from '../records/connect.js'
import { Database } from '../records/database.js'
import { dialectNameOf, fileOfAddress, readOnlyAddress } from '../engines/database-address.js'
import { defaultUrl, emptyAddress } from '../engines/engine-for-url.js'
import type { BootstrapOptions } from '../bootstrap/options.js'
import { installCommand } from '../errors/missing-package.js'
import { captureBootstrap, wasBootstrapCalled } from '../bootstrap/cli-hooks.js'
import { isModule } from '../bootstrap/module.js'
import { pathInPackage, isSource } from './project-files.js'

/**
 * Plans the application for commands that only need its records and its database. Only the environment variables of the
 * database are read, because keys, other settings and static folders can be missing on the machine that runs migrations.
 *
 * @throws {DeclarationError} with every problem of the declarations
 */
export function planForDatabase({
  module,
  options,
}: Pick<LoadedApplication, 'module' | 'options'>): Promise<ApplicationPlan> {
  const env = Object.fromEntries(
    Object.entries(options.env ?? process.env).filter(([name]) => name.startsWith('DATABASE_')),
  )
  const databaseOptions: BootstrapOptions = { ...options, env, logger: false, client: false }
  delete databaseOptions.auth
  delete databaseOptions.static
  return planApplication(module, databaseOptions)
}

let canLoadSources =
  process.versions.bun !== undefined ||
  process.versions.deno !== undefined ||
  process.execArgv.some((argument) => /\btsx\b/.test(argument))

/**
 * Lets this process import the TypeScript sources of an application, with the `tsx` that the application has installed.
 *
 * @param file the source that will be imported
 * @throws {UsageError} tsx is not installed for this file
 */
export async function loadSources(file: string): Promise<void> {
  if (canLoadSources) return
  const loader = findLoader(file)
  if (loader === undefined) {
    const install = installCommand('--save-dev tsx')
    throw new UsageError(
      `${file} is TypeScript, and tsx is not installed. Run ${install}, or name the built file.`,
    )
  }
  // Same effect as `node --import tsx`.
  await import(pathToFileURL(loader).href)
  canLoadSources = true
}

/** @returns the path of the `tsx` that a file can import, or undefined */
export function findLoader(file: string): string | undefined {
  try {
    return createRequire(file).resolve('tsx')
  } catch {
    return undefined
  }
}

/** @returns true if this process can import a TypeScript source: with tsx, or because Node.js removes types by itself */
export function canImport(source: string): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown }
  return canLoadSources || findLoader(source) !== undefined || Boolean(typescript)
}

/** Loads an application and plans it without a log. It is not started. */
export async function loadPlan(
  path: string | undefined,
  terminal: Pick<Terminal, 'cwd' | 'loadSources'>,
  overrides: BootstrapOptions = {},
): Promise<LoadedApplication & { readonly plan: ApplicationPlan }> {
  const loaded = await loadApplication(path, terminal)
  const options = { ...loaded.options, ...overrides, logger: false }
  return { ...loaded, plan: await planApplication(loaded.module, options) }
}

export interface LoadedApplication {
  readonly module: Class
  /** The options of the file's call of `bootstrap`, or its export `options`. */
  readonly options: BootstrapOptions
  /** The absolute path of the loaded file. */
  readonly path: string
  /** What the file exports. Undefined if it waits for its call of `bootstrap`, which never returns here. */
  readonly exports: Readonly<Record<string, unknown>> | undefined
}

/**
 * @param path of a built file. Default: `filigree.module` in package.json
 * @throws {UsageError} no file is named, it does not exist, or it exports no module
 */
export async function loadApplication(
  path: string | undefined,
  { cwd, loadSources }: Pick<Terminal, 'cwd' | 'loadSources'>,
): Promise<LoadedApplication> {
  const named = path ?? (await pathInPackage(cwd))
  if (named === undefined) {
    throw new UsageError(
      'the application is unknown. Name its file with --module, or write it into package.json: "filigree": { "module": "dist/app-module.js" }.',
    )
  }
  const source = resolve(cwd, named)
  const built = path === undefined ? builtFileOf(source) : undefined
  const file = built ?? source
  if (!existsSync(file))
    throw new UsageError(
      `the file ${named} does not exist. Build the application first, or name another file: --module dist/main.js.`,
    )
  if (isSource(file)) await loadSources?.(file)
  const found = await reportingExit(named, () => captureBootstrap(() => importFile(file, named)))
  if ('call' in found) return { ...found.call, path: file, exports: found.loaded }
  const { loaded } = found
  const module = exportedModule(loaded)
  if (module === undefined) {
    const names = Object.keys(loaded).join(', ') || 'nothing'
    throw new UsageError(
      `${named} does not call bootstrap, and exports no module as AppModule, as default or as its only class with @Module. It exports ${names}.`,
    )
  }
  return { module, options: loaded.options ?? {}, path: file, exports: loaded }
}

/**
 * On servers, development dependencies such as tsx are often missing.
 *
 * @returns `dist/main.js` for `src/main.ts`, if tsx is not installed and the built file exists
 */
export function builtFileOf(source: string): string | undefined {
  if (!isSource(source) || canLoadSources || findLoader(source) !== undefined) return undefined
  const inDist = source.replace(/([\\/])src([\\/](?:(?!\1src\2).)*)$/, '$1dist$2')
  const built = inDist.replace(/\.([cm]?)tsx?$/, '.$1js')
  return built !== source && existsSync(built) ? built : undefined
}

/** @returns the application's module among the exports of a file: `AppModule`, the default, or the only class with `@Module` */
function exportedModule(exported: Readonly<Record<string, unknown>>): Class | undefined {
  const named = exported.AppModule ?? exported.default
  if (named !== undefined) return isClass(named) ? named : undefined
  const modules = Object.values(exported).filter(isClass).filter(isModule)
  return modules.length === 1 ? modules[0] : undefined
}

/** Starts the module that a file exports, unless the file has called `bootstrap` itself. */
export async function startExportedModule(
  exported: Readonly<Record<string, unknown>>,
): Promise<void> {
  const module = exportedModule(exported)
  if (module === undefined || wasBootstrapCalled()) return
  const { bootstrap } = await import('../bootstrap/bootstrap.js')
  await bootstrap(module, exported.options ?? {})
}

/** Node's exit code if the event loop is empty while a top-level `await` waits. */
export const unsettledAwait = 13

/** Reports a module that ends the process while it is loaded. */
async function reportingExit<T>(named: string, load: () => Promise<T>): Promise<T> {
  const report = (exitCode: number): void => {
    if (process.exitCode === unsettledAwait) return
    const text = `filigree: ${named} or one of its modules ended the process with code ${exitCode} while it was loaded.\n`
    writeSync(process.stderr.fd, text)
    if (exitCode === 0) process.exitCode = 1
  }
  process.on('exit', report)
  try {
    return await load()
  } finally {
    process.off('exit', report)
  }
}

async function importFile(path: string, named: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof Error && isUnloadableSource(named, error))) throw error
    const problem = `${named} is TypeScript, which this Node.js cannot load: ${error.message}.`
    throw new UsageError(`${problem} Name the built file instead.`)
  }
}

/** True if Node.js cannot load `.ts`, or only removes types, so that decorators are a syntax error. */
function isUnloadableSource(named: string, error: Error): boolean {
  const isUnknown = 'code' in error && error.code === 'ERR_UNKNOWN_FILE_EXTENSION'
  const isAtSign = error.name === 'SyntaxError' && error.message === 'Invalid or unexpected token'
  return isSource(named) && (isUnknown || isAtSign)
}

// The database.

/**
 * @returns the record of `filigree/jobs`
 * @throws {UsageError} the application does not import `jobs()`
 */
export function findJobRecord(records: readonly Class[]): Class {
  const record = records.find(isJobRecord)
  if (record !== undefined) return record
  throw new UsageError(
    "the application has no jobs. Add imports: [jobs()] from 'filigree/jobs' to its module.",
  )
}

type Plan = Pick<Awaited<ReturnType<typeof planApplication>>, 'records' | 'environment'>

/**
 * @param databaseOption the option `database` of the application. Default: DATABASE_URL
 * @throws {DeclarationError} the database cannot be opened
 */
export async function openDatabase(
  { records, environment }: Plan,
  databaseOption: unknown,
  terminal: Terminal,
): Promise<Database> {
  const database = databaseOption ?? environment.databaseUrl
  const opened =
    database instanceof Database
      ? database
      : await createDatabase({
          records,
          ...toDatabaseOptions(database as ClosedChoice),
          direct: environment.databaseDirectUrl,
          log: warningsTo(terminal),
        })
  for (const record of records) opened.table(record)
  return opened
}

/**
 * @param databaseOption the option `database` of the application
 * @returns the name of the engine, without opening the database. Undefined if the settings do not name it
 */
export function engineInUse({ environment }: Pick<Plan, 'environment'>, databaseOption: unknown) {
  const choice = databaseOption ?? environment.databaseUrl
  if (choice instanceof Database) return choice.engineName
  return typeof choice === 'string' ? dialectNameOf(choice) : undefined
}

export interface ReadDatabase {
  readonly database: Database
  /** True for a file that is opened read-only. */
  readonly isReadOnly: boolean
  /** The file does not exist. The database is an empty one in memory instead. */
  readonly isMissing: boolean
}

/** Opens the database for reading. A database file is opened read-only, and is not created. */
export async function openForReading(
  plan: Plan,
  databaseOption: unknown,
  terminal: Terminal,
): Promise<ReadDatabase> {
  const choice = databaseOption ?? plan.environment.databaseUrl ?? defaultUrl
  const file = typeof choice === 'string' ? fileOf(choice, terminal.cwd) : undefined
  if (typeof choice !== 'string' || file === undefined)
    return {
      database: await openDatabase(plan, choice, terminal),
      isReadOnly: false,
      isMissing: false,
    }
  const exists = existsSync(file)
  const address = exists ? readOnlyAddress(choice) : emptyAddress
  const database = await openDatabase(plan, address, terminal)
  return { database, isReadOnly: exists, isMissing: !exists }
}

/** @returns the path of a database file. Undefined for servers and databases in memory */
export function fileOf(address: string, cwd: string): string | undefined {
  const file = fileOfAddress(address)
  return file === undefined ? undefined : resolve(cwd, file)
}

/** A log that prints warnings and errors on standard error, for example while the database waits for a lock. */
export function warningsTo({ err }: Terminal): Log {
  const write = (details: object, message: string): void => {
    const { err: error } = details as { readonly err?: unknown }
    void err(`${message}${error instanceof Error ? `: ${error.message}` : ''}\n`)
  }
  const isLevelEnabled = (level: string): boolean => level === 'warn' || level === 'error'
  return { ...silentLog, warn: write, error: write, isLevelEnabled }
}
