/** `filigree migrate`: writes, runs, undoes, lists and checks the migrations of an application's records. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { dialects } from '../../engines/engine-for-url.js'
import type { Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class.js'
import type { Database } from '../../records/database.js'
import {
  checkMigrations,
  findNotUndone,
  migrateDown,
  migrateUp,
  migrationStatus,
} from '../../records/migrations/migrations.js'
import { needsMigration } from '../../records/migrations/migration-text.js'
import {
  makeCodeMigration,
  makeEmptyMigration,
  makeMigration,
} from '../../records/migrations/make-migration.js'
import { isMisplaced } from '../../records/schema/difference-kinds.js'
import { toProblem } from '../../records/schema/sync.js'
import type { LoadFile } from '../../records/migrations/migration-module.js'
import { adoptEngine } from '../../records/migrations/adopt-engine.js'
import { findUncovered } from '../../records/migrations/migration-base.js'
import { builtFolderOf, findMigrationsFolder } from '../../records/migrations/migration-files.js'
import { readTables } from '../../records/model/read-table.js'
import { loadApplication, planForDatabase, engineInUse, openDatabase } from '../load-application.js'
import { buildMigrations, loadMigrationsWith } from '../code-migrations.js'
import {
  defineCommand,
  flag,
  moduleOption,
  option,
  readInteger,
  type Terminal,
  UsageError,
} from '../command.js'
import { describeTime, toJson } from '../output.js'
import { readEngines, writeEngines } from '../project-files.js'

const engineNames = dialects.map(({ name }) => name)

const actions = {
  make: 'writes a migration for every engine: <stamp>_<name>.<engine>.sql. Read the file before it runs',
  up: 'runs new migrations, each in a transaction. Other processes wait meanwhile',
  down: 'undoes the last migration, and names what cannot be undone',
  status:
    'lists all migrations, and tables that are not distributed as shardBy says. The exit code is 1 if one has not run',
  check:
    'compares the files with the records, without a database unless --database is set. The exit code is 1 if they differ',
  build: 'compiles migrations in code into dist/migrations, for servers without TypeScript',
  adopt: 'writes the first migration for another engine',
} as const

export const migrateCommand = defineCommand({
  group: 'Data',
  usage: 'filigree migrate make <name> | up | down | status | check | build | adopt <engine>',
  summary: "writes and runs the migrations of the application's records",
  description: `Changes the schema of the application's database: its option "database", otherwise DATABASE_URL. Behind a pooler set
DATABASE_DIRECT_URL. The application is not started. "filigree": { "engines": […] } in package.json names the engines that files
are written and checked for.`,
  actions,
  options: {
    empty: flag('make: writes an empty migration for your own statements'),
    code: flag('make: writes a TypeScript file for changes of rows, which runs on every engine'),
    database: flag('check: compares the tables of the database with the records too'),
    steps: option('<number>', 'down: the number of migrations. Default: 1'),
    folder: option('<folder>', 'the folder of the migrations. Default: migrations'),
    out: option('<folder>', 'build: the folder of the compiled files. Default: dist/migrations'),
    module: moduleOption,
    json: flag('prints one JSON value'),
  },
  examples: [
    'filigree migrate make add-price',
    'filigree migrate make fill-price --code',
    'filigree migrate up',
    'filigree migrate down --steps 2',
    `filigree migrate adopt ${engineNames.at(-1) ?? ''}`,
  ],
  maxPositionals: 2,
  run: async ({ values, positionals: [action, name = ''] }, terminal) => {
    const { module, empty, code, json } = values
    checkAction(action, name, values)
    const folder = findMigrationsFolder(terminal.cwd, values.folder)
    const steps = readInteger('--steps', values.steps ?? '1')
    const readsFiles = action !== 'up' && action !== 'down'
    const engines = readsFiles ? await readEngines(terminal.cwd) : undefined
    const load = loadMigrationsWith(terminal)
    const options: MigrateOptions = { name, folder, engines, steps, json, load }
    if (empty) return makeEmpty(options, terminal)
    if (code) return makeCode(options, terminal)
    if (action === 'build') return build(options, values.out, terminal)
    const application = await loadApplication(module, terminal)
    const plan = await planForDatabase(application)
    const engine = engineInUse(plan, application.options.database)
    const open = () => openDatabase(plan, application.options.database, terminal)
    if (action === 'adopt') return adopt(plan.records, engine, options, { open, terminal })
    if (action === 'check') {
      const messages = values.database ? await readTableDifferences(await open()) : []
      return check(plan.records, engine, { ...options, messages }, terminal)
    }
    const database = await open()
    try {
      const succeeded = await databaseActions[action](database, options, terminal)
      if (engine !== undefined && readsFiles) {
        // Warns if there are no migrations for the engine of the database in use.
        for (const { what, remedy } of await findUncovered(folder, engine, engines))
          await terminal.err(`${what}\n${remedy}\n`)
      }
      return succeeded
    } finally {
      await database.close()
    }
  },
})

interface MigrateOptions {
  /** The name of a new migration. */
  readonly name: string
  /** Absolute path. */
  readonly folder: string
  /** The engines that files are written and checked for. Undefined: all. */
  readonly engines: readonly string[] | undefined
  readonly steps: number
  readonly json: boolean
  /** Imports a migration in code. */
  readonly load: LoadFile
}

/** @throws {UsageError} */
function checkAction(
  action: string | undefined,
  name: string,
  options: Readonly<Record<'empty' | 'code' | 'database', boolean>> & { out: string | undefined },
): asserts action is keyof typeof actions {
  if (action === undefined || !Object.hasOwn(actions, action)) {
    const names = Object.keys(actions)
    const hint = action === undefined ? '' : didYouMean(action, names)
    throw new UsageError(hint || `the action is missing. Actions: ${names.join(', ')}.`)
  }
  if (action === 'make' && name === '')
    throw new UsageError('the name is missing. Write make add-price.')
  if (action === 'adopt' && !engineNames.includes(name)) {
    const hint =
      name === '' ? 'the engine is missing.' : `${JSON.stringify(name)} is not an engine.`
    throw new UsageError(`${hint} Engines: ${engineNames.join(', ')}.`)
  }
  if (action !== 'make' && action !== 'adopt' && name !== '')
    throw new UsageError(`unexpected argument ${JSON.stringify(name)}.`)
  if (options.empty && options.code)
    throw new UsageError('--empty writes SQL and --code writes TypeScript. Choose one.')
  for (const [option, allowed] of Object.entries(onlyFor))
    if (options[option as keyof typeof onlyFor] && action !== allowed)
      throw new UsageError(`--${option} is only for ${allowed}.`)
}

/** Options and their action. */
const onlyFor = { empty: 'make', code: 'make', database: 'check', out: 'build' } as const

/** Runs without an application. */
async function makeCode(
  { name, folder, json }: MigrateOptions,
  { cwd, out }: Terminal,
): Promise<boolean> {
  const ending = existsSync(join(cwd, 'tsconfig.json')) ? 'ts' : 'mjs'
  const files = [relative(cwd, await makeCodeMigration(name, { folder, ending }))]
  await out(json ? toJson({ files, applied: [], warnings: [] }) : `${files.join('\n')}\n`)
  return true
}

/** Runs without an application. */
async function build(
  { folder, json }: MigrateOptions,
  out: string | undefined,
  terminal: Terminal,
): Promise<boolean> {
  const { cwd } = terminal
  const target = out === undefined ? builtFolderOf(folder) : resolve(cwd, out)
  const paths = await buildMigrations(folder, target)
  const files = paths.map((file) => relative(cwd, file))
  const text = files.length === 0 ? 'There are no migrations in code.' : files.join('\n')
  await terminal.out(json ? toJson({ files }) : `${text}\n`)
  return true
}

/** Runs without an application. */
async function makeEmpty(
  { name, folder, engines, json }: MigrateOptions,
  { cwd, out }: Terminal,
): Promise<boolean> {
  const paths = await makeEmptyMigration(name, { folder, engines })
  const files = paths.map((file) => relative(cwd, file))
  await out(json ? toJson({ files, applied: [], warnings: [] }) : `${files.join('\n')}\n`)
  return true
}

/** @returns a sentence for each difference between the tables and the records that a migration removes */
async function readTableDifferences(database: Database): Promise<string[]> {
  try {
    const differences = await database.differences()
    return differences
      .filter((one) => one.isSecond !== true && needsMigration([one]))
      .map(({ message, command = '' }) => `Database: ${message} ${command}`.trim())
  } finally {
    await database.close()
  }
}

/** @param messages the differences of the database, if it was read */
async function check(
  records: readonly Class[],
  engine: string | undefined,
  {
    folder,
    engines,
    json,
    load,
    messages,
  }: MigrateOptions & { readonly messages: readonly string[] },
  terminal: Terminal,
): Promise<boolean> {
  const problems = new Problems()
  const tables = readTables(records, problems)
  problems.throwIfAny()
  const uncovered = await findUncovered(folder, engine, engines)
  const covered = engines?.filter((name) => uncovered.every((one) => one.engine !== name))
  const found = [
    ...(await checkMigrations(tables, { folder, engines: covered, load })),
    ...messages,
  ]
  const lines =
    found.length === 0 ? [] : [...found, 'Write a migration: filigree migrate make <name>.']
  for (const { isOptional, what, remedy } of uncovered) {
    lines.push(what, remedy)
    if (!isOptional) found.push(what)
  }
  if (json) await terminal.out(toJson({ problems: found }))
  else {
    if (found.length === 0) await terminal.out('The migrations fit the records.\n')
    if (lines.length > 0) await terminal.err(`${lines.join('\n')}\n`)
  }
  return found.length === 0
}

/**
 * Writes the files of another engine, and its name into package.json. The database is only opened if it is of that engine,
 * because the start may have made its tables already.
 */
async function adopt(
  records: readonly Class[],
  engineInUse: string | undefined,
  { name: engine, folder, engines, json }: MigrateOptions,
  { open, terminal }: { readonly open: () => Promise<Database>; readonly terminal: Terminal },
): Promise<boolean> {
  const { cwd, out, err } = terminal
  const problems = new Problems()
  const tables = readTables(records, problems)
  problems.throwIfAny()
  const database = engineInUse === engine ? await open() : undefined
  try {
    const adopted = await adoptEngine(tables, { engine, folder, database })
    const isAdded = engines !== undefined && !engines.includes(engine)
    if (isAdded) await writeEngines(cwd, [...engines, engine])
    const { applied = [], warnings = [] } = adopted ?? {}
    const files = (adopted?.files ?? []).map((file) => relative(cwd, file))
    const lines = [
      ...(adopted === undefined ? [`There are migrations for ${engine} already.`] : files),
      ...(isAdded ? [`package.json: filigree.engines names ${engine} now.`] : []),
      ...applied.map((one) => `already applied to this database: ${one}`),
    ]
    await out(json ? toJson({ files, applied, warnings }) : `${lines.join('\n')}\n`)
    if (!json) await err(warnings.map((warning) => `note: ${warning}\n`).join(''))
    return true
  } finally {
    await database?.close()
  }
}

const databaseActions = { make, up, down, status }

async function make(
  database: Database,
  { name, folder, engines, json }: MigrateOptions,
  { cwd, out, err }: Terminal,
): Promise<boolean> {
  const migration = await makeMigration(database, name, { folder, engines })
  const { applied = [], warnings = [] } = migration ?? {}
  const files = migration?.files.map((file) => relative(cwd, file)) ?? []
  if (json) {
    await out(toJson({ files, applied, warnings }))
    return true
  }
  const nothingNew = [
    'The migrations already fit the records: no new one is needed.',
    'For your own statements use --empty.',
  ]
  const lines = [
    ...(migration === undefined ? nothingNew : files),
    ...applied.map((one) => `already applied to this database: ${one}`),
  ]
  await out(`${lines.join('\n')}\n`)
  if (warnings.length > 0) await err(warnings.map((warning) => `warning: ${warning}\n`).join(''))
  return true
}

/** Prints each migration with its time as soon as it has run. */
async function up(
  database: Database,
  { folder, json, load }: MigrateOptions,
  terminal: Terminal,
): Promise<boolean> {
  const { out, progress } = terminal
  const ran = await migrateUp(database, {
    folder,
    load,
    onProgress: printProgress(terminal),
    onStart: (name) => progress?.(`running: ${name} …`),
    onDone: (name, milliseconds) => {
      if (!json) void out(`ran: ${name} (${describeTime(milliseconds)})\n`)
    },
  })
  if (json) await out(toJson({ ran }))
  else if (ran.length === 0) await out('Nothing to do.\n')
  return true
}

/** Milliseconds between two lines: in a terminal, and in a file or a log. */
const [terminalInterval, logInterval] = [1_000, 10_000]

/** Prints how far a migration in code is: `fill: 12,000 of 100,000`. */
function printProgress({
  progress,
  err,
}: Terminal): (name: string, done: number, total: number | undefined) => void {
  const interval = progress === undefined ? logInterval : terminalInterval
  let printedAt = performance.now()
  return (name, done, total) => {
    if (performance.now() - printedAt < interval) return
    printedAt = performance.now()
    const of = total === undefined ? '' : ` of ${total.toLocaleString('en')}`
    const text = `${name}: ${done.toLocaleString('en')}${of}`
    if (progress === undefined) void err(`${text}\n`)
    else progress(text)
  }
}

async function down(
  database: Database,
  { folder, steps, json, load }: MigrateOptions,
  terminal: Terminal,
): Promise<boolean> {
  const { out, err } = terminal
  const onProgress = printProgress(terminal)
  const undone = await migrateDown(database, { folder, steps, load, onProgress })
  const notUndone = await findNotUndone(database, undone, { folder })
  if (json) {
    await out(toJson({ takenBack: undone, notTakenBack: notUndone }))
    return true
  }
  const lines = undone.map((name) => `undone: ${name}\n`)
  await out(lines.length === 0 ? 'Nothing to do.\n' : lines.join(''))
  await err(notUndone.map((message) => `not undone: ${message}\n`).join(''))
  return true
}

async function status(
  database: Database,
  { folder, json }: MigrateOptions,
  { out, err }: Terminal,
): Promise<boolean> {
  const all = await migrationStatus(database, { folder })
  const misplaced = await readMisplaced(database)
  const lines = all.map(({ name, state }) => `${state.padEnd(7)} ${name}\n`)
  if (json) await out(toJson(all))
  else await out(lines.length === 0 ? 'There are no migrations.\n' : lines.join(''))
  await err(misplaced.map(({ message, remedy }) => `${message} ${remedy}\n`).join(''))
  return all.every(({ state }) => state === 'applied')
}

/** Tables that are not distributed as `shardBy` says, with the command for each. Other records have none. */
async function readMisplaced(database: Database): Promise<Problem[]> {
  const isSharded = [...database.tables].some(({ shard }) => shard !== undefined)
  if (!isSharded) return []
  return (await database.differences()).filter(isMisplaced).map(toProblem)
}
