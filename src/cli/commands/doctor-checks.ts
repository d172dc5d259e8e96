/** The checks of `filigree doctor`: Node.js, the compiler, declarations, keys, migrations, the database and its slow queries. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import type { Terminal } from '../command.js'
import { paintReport, toTable } from '../output.js'
import { createPaint, type Paint } from '../../core/paint.js'
import { withoutPasswords } from '../../core/secrets.js'
import { isSource, readInstalledPackage, readEngines, toPosix } from '../project-files.js'
import { findHandlerMistakes } from '../handler-sources.js'
import { indexSources, toSourceFrame } from '../describe-error.js'
import type { BootstrapOptions } from '../../bootstrap/options.js'
import { planApplication, type ApplicationPlan } from '../../bootstrap/plan-application.js'
import { closeInTime, whileResponsive } from '../../bootstrap/storage.js'
import { logStartWarnings } from '../../bootstrap/start-checks.js'
import { silentLog } from '../../core/log.js'
import { asProblems, DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import type { AnnouncedState } from '../../engines/contract/announce-sql.js'
import type { Database } from '../../records/database.js'
import { isMisplaced, type Difference } from '../../records/schema/difference-kinds.js'
import { isSettled, toProblems } from '../../records/schema/sync.js'
import { checkMigrations } from '../../records/migrations/migrations.js'
import { findUncovered } from '../../records/migrations/migration-base.js'
import { findMigrationsFolder } from '../../records/migrations/migration-files.js'
import { readTables } from '../../records/model/read-table.js'
import { readAnnouncements } from '../../records/migrations/announce-changes.js'
import { findUnprunedQueries } from '../../records/partition-advice.js'
import { findScans } from '../../records/scan-log.js'
import { findPartitionWarnings } from '../../records/schema/maintain-partitions.js'
import { reachable } from '../../routing/route.js'
import { loadMigrationsWith } from '../code-migrations.js'
import {
  engineInUse,
  openForReading,
  type ReadDatabase,
  type LoadedApplication,
} from '../load-application.js'

/** The result of a check. */
export interface Finding {
  /** The subject: `Node.js`, `keys`. */
  readonly about: string
  /** `fault` must be fixed. `note` can be on purpose. */
  readonly state: 'ok' | 'note' | 'fault'
  readonly what: string
  /** How to fix it. */
  readonly remedy?: string | undefined
  /** The code of a configuration problem, for `filigree explain`. */
  readonly code?: string
  /** Where the problem is in the sources. */
  readonly source?: FindingSource
}

interface FindingSource {
  /** Relative to the working folder. */
  readonly file: string
  readonly line: number
  /** The lines around it, for people. */
  readonly frame: readonly string[]
}

/** @returns true if something must be fixed */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ state }) => state === 'fault')
}

/** The subject of findings about access without a token. */
export const publicAccess = 'open to everybody'

const stateColours = { ok: 'green', note: 'yellow', fault: 'red' } as const

/** A table of findings, each with its source lines and its fix below, and a list of what is open to everybody. */
export function findingsToText(findings: readonly Finding[], paint: Paint = createPaint()): string {
  const isOpen = ({ about, state }: Finding): boolean => about === publicAccess && state !== 'ok'
  const open = findings.filter(isOpen).map(({ what }) => `- ${what}\n`)
  const rest = findings.filter((one) => !isOpen(one))
  const rows = rest.flatMap(({ about, state, what, remedy, code, source }) => [
    [
      paint(stateColours[state], state),
      about,
      code === undefined ? what : `${paint('red', `error[${code}]:`)} ${what}`,
    ],
    ...paintReport(source?.frame.join('\n') ?? '', paint)
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [['', '', line]])),
    ...(remedy === undefined ? [] : [['', '', paint('dim', remedy)]]),
  ])
  const listed = open.length === 0 ? '' : `\nOpen without a token:\n${open.join('')}`
  return withoutPasswords(toTable(rows) + listed)
}

export function findingsToJson(findings: readonly Finding[]): string {
  return `${withoutPasswords(JSON.stringify(findings, null, 2))}\n`
}

/** Checks Node.js, the TypeScript compiler and its options. */
export async function examineSetup(cwd: string): Promise<Finding[]> {
  const require = createRequire(join(cwd, 'package.json'))
  return [
    examineNode((await readInstalledPackage()).engines.node),
    ...examineCompiler(cwd, require),
  ]
}

function examineNode(requiredRange: string): Finding {
  const version = process.versions.node
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [minMajor = 0, minMinor = 0] = requiredRange.replace(/^\D+/, '').split('.').map(Number)
  const fits = major > minMajor || (major === minMajor && minor >= minMinor)
  if (fits) return { about: 'Node.js', state: 'ok', what: version }
  const what = `${version} is older than ${requiredRange.replace(/^\D+/, '')}`
  return { about: 'Node.js', state: 'fault', what, remedy: 'Install a newer Node.js.' }
}

/** The part of the compiler's API that is used. TypeScript 7 has no API. */
interface Compiler {
  readonly version: string
  readonly sys?: object
  readFile?: unknown
  readConfigFile?(path: string, read: unknown): { config?: unknown; error?: unknown }
  parseJsonConfigFileContent?(
    config: unknown,
    host: unknown,
    folder: string,
  ): { readonly options: Readonly<Record<string, unknown>> }
}

function examineCompiler(cwd: string, require: NodeJS.Require): Finding[] {
  const file = join(cwd, 'tsconfig.json')
  if (!existsSync(file)) return []
  let compiler: Compiler
  try {
    compiler = require('typescript') as Compiler
  } catch {
    const remedy = 'Install it: npm install --save-dev typescript@5.9.'
    return [{ about: 'TypeScript', state: 'note', what: 'is not installed', remedy }]
  }
  const { version, sys } = compiler
  const versionFinding: Finding = { about: 'TypeScript', state: 'ok', what: version }
  const read = compiler.readConfigFile?.(
    file,
    (sys as { readFile?: unknown } | undefined)?.readFile,
  )
  const parsed =
    read?.config === undefined
      ? undefined
      : compiler.parseJsonConfigFileContent?.(read.config, sys, cwd)
  const options = parsed?.options ?? readResolvedConfig(cwd, require)
  if (options === undefined) {
    const what = 'tsconfig.json cannot be read by this compiler'
    return [versionFinding, { about: 'compiler options', state: 'note', what }]
  }
  return [versionFinding, ...examineOptions(options)]
}

/** Runs `tsc --showConfig`, for compilers without an API such as TypeScript 7. */
function readResolvedConfig(
  cwd: string,
  require: NodeJS.Require,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const file = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
    const { stdout } = spawnSync(process.execPath, [file, '--showConfig'], {
      cwd,
      encoding: 'utf8',
      timeout: 20_000,
    })
    const { compilerOptions } = JSON.parse(stdout) as { compilerOptions?: object }
    return compilerOptions as Readonly<Record<string, unknown>> | undefined
  } catch {
    return undefined
  }
}

function examineOptions(options: Readonly<Record<string, unknown>>): Finding[] {
  const { experimentalDecorators, emitDecoratorMetadata, strict } = options
  const findings: Finding[] = []
  const addWarning = (what: string, remedy: string): void => {
    findings.push({ about: 'compiler options', state: 'note', what, remedy })
  }
  if (experimentalDecorators !== true)
    addWarning(
      'experimentalDecorators is off: standard decorators emit no types',
      'Write kinds, { body: Class } and static inject everywhere, or switch it on.',
    )
  if (emitDecoratorMetadata === true)
    addWarning(
      'emitDecoratorMetadata is on, but tsx and esbuild do not emit types',
      'If they compile the sources, write { body: Class } and static inject.',
    )
  if (strict !== true) addWarning('strict is off', 'Switch it on: the types of records rely on it.')
  if (findings.length > 0) return findings
  return [{ about: 'compiler options', state: 'ok', what: 'decorators and strict are on' }]
}

interface ExaminedApplication {
  readonly findings: readonly Finding[]
  /** Undefined if the declarations have errors. */
  readonly plan: ApplicationPlan | undefined
}

/** Checks the declarations with the settings that a start would use. */
export async function examineDeclarations(
  { module, options, path }: LoadedApplication,
  { cwd }: Pick<Terminal, 'cwd'>,
): Promise<ExaminedApplication> {
  try {
    const plan = await planApplication(module, { ...options, logger: false })
    const { records } = plan
    const routes = reachable(plan.routes)
    const what = `${routes.length} routes, ${records.length} records`
    const warnings: Finding[] = []
    const warn = (_details: object, text: string): void => {
      warnings.push({ about: 'routes', state: 'note', what: text })
    }
    logStartWarnings(routes, plan.settings, { ...silentLog, warn })
    const index = indexSources(cwd, isSource(path) ? path : undefined)
    const mistakes = index === undefined ? [] : findHandlerMistakes(plan, index)
    const declarations: Finding[] =
      mistakes.length === 0
        ? [{ about: 'declarations', state: 'ok', what }]
        : toFindings('declarations', new DeclarationError(mistakes), { cwd, path })
    return { plan, findings: [...declarations, ...warnings, examineKeys(plan)] }
  } catch (error) {
    return { plan: undefined, findings: toFindings('declarations', error, { cwd, path }) }
  }
}

/**
 * @param sources the working folder, and the file that was loaded, to find the source lines of problems
 * @returns one finding for each problem of an error
 */
export function toFindings(
  about: string,
  error: unknown,
  sources?: { readonly cwd: string; readonly path: string },
): Finding[] {
  if (error instanceof DeclarationError) {
    const locate = sources === undefined ? undefined : createLocator(sources)
    return asProblems(error.problems).map((problem) => {
      const { code, message, remedy } = problem
      const source = locate?.(problem)
      const finding = { about, state: 'fault' as const, what: message, remedy, code }
      return source === undefined ? finding : { ...finding, source }
    })
  }
  const what = error instanceof Error ? error.message : String(error)
  return [{ about, state: 'fault', what }]
}

function createLocator({
  cwd,
  path,
}: {
  readonly cwd: string
  readonly path: string
}): (problem: Problem) => FindingSource | undefined {
  const index = indexSources(cwd, isSource(path) ? path : undefined)
  return (problem) => {
    const location = index?.locate(problem)
    if (location === undefined) return undefined
    const file = toPosix(relative(cwd, location.file))
    return { file, line: location.line, frame: toSourceFrame(location, cwd) }
  }
}

function examineKeys({ authOptions }: ApplicationPlan): Finding {
  const { keys } = authOptions
  const about = 'keys'
  switch (keys.from) {
    case 'given':
      return {
        about,
        state: 'ok',
        what: keys.private === undefined ? 'tokens are verified' : 'tokens are signed and verified',
      }
    case 'jwks':
      return { about, state: 'ok', what: `tokens are verified with the keys of ${keys.url}` }
    case 'folder': {
      const what = `a key pair for development, in ${keys.folder}`
      return { about, state: 'note', what, remedy: 'Create keys for production: filigree keys.' }
    }
    case 'none':
      return { about, state: 'note', what: 'there are no tokens: auth.keys is false' }
  }
}

/** Checks that the migration files lead to the schema of the records. */
export async function examineMigrations(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  terminal: Terminal,
): Promise<Finding[]> {
  const { cwd } = terminal
  const folder = findMigrationsFolder(cwd)
  const about = 'migrations'
  if (plan.records.length === 0) return []
  if (!existsSync(folder)) {
    const remedy =
      'Production changes tables only with migrations. Run filigree migrate make first.'
    return [{ about, state: 'note', what: 'there are none', remedy }]
  }
  try {
    const engines = await readEngines(cwd)
    const uncovered = await findUncovered(folder, engineInUse(plan, options.database), engines)
    const differences = await checkMigrations(readTables(plan.records, new Problems()), {
      folder,
      engines: engines?.filter((name) => uncovered.every((one) => one.engine !== name)),
      load: loadMigrationsWith(terminal),
    })
    const remedy = 'Write a migration: filigree migrate make <name>.'
    const problems = [
      ...differences.map((what) => ({ what, remedy })),
      ...uncovered.map(({ what, remedy }) => ({ what, remedy })),
    ]
    if (problems.length === 0) return [{ about, state: 'ok', what: 'they fit the records' }]
    return problems.map((problem) => ({ about, state: 'note', ...problem }))
  } catch (error) {
    return toFindings(about, error)
  }
}

/** Checks that the database responds, and finds queries of the last hour that read complete tables. */
export async function examineDatabase(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  terminal: Terminal,
): Promise<Finding[]> {
  const about = 'database'
  const choice = options.database ?? plan.environment.databaseUrl
  if (!plan.needsDatabase && plan.records.length === 0 && choice === undefined)
    return [{ about, state: 'ok', what: 'none is needed' }]
  let opened: ReadDatabase
  try {
    opened = await openForReading(plan, options.database, terminal)
  } catch (error) {
    return toFindings(about, error)
  }
  const { database, isMissing } = opened
  // There, only migrations change tables, and the records must fit them.
  const production = (options.env ?? process.env).NODE_ENV === 'production'
  try {
    if (isMissing && !(production && plan.records.length > 0)) {
      const what = 'its file does not exist yet'
      return [{ about, state: 'note', what, remedy: 'The first start creates it.' }]
    }
    return await whileResponsive(database, async () => [
      isMissing
        ? { about, state: 'note', what: 'its file does not exist yet', remedy: howToMigrate }
        : { about, state: 'ok', what: database.driverName },
      ...(await examineTables(database, production)),
      ...(await examineAnnouncements(database)),
      ...(await examineScans(database)),
      ...(await examinePartitions(database)),
      ...(await plan.examine(database)).map((what): Finding => ({
        about: 'packages',
        state: 'note',
        what,
      })),
    ])
  } catch (error) {
    return toFindings(about, error)
  } finally {
    await closeInTime(() => database.close())
  }
}

/** The triggers of `filigree changes`. Nothing is said of a database without them. */
async function examineAnnouncements(database: Database): Promise<Finding[]> {
  const about = 'other programs'
  const tables = (await readAnnouncements(database.tables, database.context)) ?? []
  const namesOf = (state: AnnouncedState): string =>
    tables
      .filter((one) => one.state === state)
      .map(({ table }) => table)
      .join(', ')
  const [announced, outdated] = [namesOf('announced'), namesOf('outdated')]
  const findings: Finding[] = []
  if (announced !== '')
    findings.push({ about, state: 'ok', what: `their writes to ${announced} are announced` })
  if (outdated !== '') {
    const what = `the triggers of ${outdated} are outdated`
    findings.push({
      about,
      state: 'note',
      what,
      remedy: 'Write them anew: filigree changes install.',
    })
  }
  return findings
}

const howToMigrate = 'Create its tables: filigree migrate up.'

/** Compares the tables of the database with the records. A start in production stops where they differ. */
async function examineTables(database: Database, production: boolean): Promise<Finding[]> {
  const differences = (await database.differences()).filter(
    (one) => one.isSecond !== true && (!isSettled(one) || isMisplaced(one)),
  )
  const isFault = (one: Difference): boolean => (production && one.blocks) || isMisplaced(one)
  const toTableFindings = (some: readonly Difference[], state: Finding['state']): Finding[] =>
    toProblems(some).map(({ code, message, remedy }) => {
      const what = message.replace(/^Database: /, '')
      return { about: 'tables', state, what, remedy, ...(state === 'fault' && { code }) }
    })
  return [
    ...toTableFindings(differences.filter(isFault), 'fault'),
    ...toTableFindings(
      differences.filter((one) => !isFault(one)),
      'note',
    ),
  ]
}

/** Partitions that are missing soon, and queries that read all of them. Nothing is said without partitioned tables. */
async function examinePartitions(database: Database): Promise<Finding[]> {
  const about = 'partitions'
  const warnings = await findPartitionWarnings(database.tables, database.context)
  const queries = await findUnprunedQueries(database)
  return [
    ...warnings.map(({ message, isUrgent }): Finding => ({
      about,
      state: isUrgent ? 'fault' : 'note',
      what: message.replace(/\.$/, ''),
      remedy: 'Run npx filigree partitions, each day or each period.',
    })),
    ...queries.map((what): Finding => ({ about, state: 'note', what })),
  ]
}

async function examineScans(database: Database): Promise<Finding[]> {
  const scans = await findScans(database)
  if (scans.length > 0)
    return scans.map((what) => ({ about: 'indexes', state: 'note' as const, what }))
  const what = 'no query of the last hour is known to have read a complete table'
  return [{ about: 'indexes', state: 'ok', what }]
}
