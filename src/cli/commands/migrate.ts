/** `filigree migrate`: writes, runs, undoes, lists and checks the migrations of an application's records. */
import { relative, resolve } from 'node:path'
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { Database } from '../../records/database.js'
import {
  checkMigrations,
  findNotUndone,
  migrateDown,
  migrateUp,
  migrationStatus,
} from '../../records/migrations/migrations.js'
import { makeEmptyMigration, makeMigration } from '../../records/migrations/make-migration.js'
import { findUncovered } from '../../records/migrations/migration-base.js'
import { readTables } from '../../records/model/read-table.js'
import { loadApplication, planForDatabase } from '../load-application.js'
import {
  type Command,
  describeTime,
  exitCodes,
  moduleOption,
  readArguments,
  readInteger,
  type Terminal,
  toJson,
  UsageError,
} from '../command.js'
import { engineInUse, openDatabase } from '../open-database.js'
import { readEngines } from '../package-files.js'

const actions = {
  make: 'writes a migration for every engine: <stamp>_<name>.<engine>.sql. Read the file before it runs',
  up: 'runs new migrations, each in a transaction. Other processes wait meanwhile',
  down: 'undoes the last migration, and names what cannot be undone',
  status: 'lists all migrations. The exit code is 1 if one has not run',
  check:
    'compares the files with the records, without a database. The exit code is 1 if they differ',
} as const
type Action = keyof typeof actions

const flags = {
  empty: { type: 'boolean', help: 'make: writes an empty migration for your own statements' },
  steps: { type: 'string', value: '<number>', help: 'down: the number of migrations. Default: 1' },
  folder: {
    type: 'string',
    value: '<folder>',
    help: 'the folder of the migrations. Default: migrations',
  },
  module: moduleOption,
  json: { type: 'boolean', help: 'prints one JSON value' },
} as const

export const migrateCommand: Command = {
  group: 'Data',
  usage: 'filigree migrate make <name> | up | down | status | check',
  summary: "writes and runs the migrations of the application's records",
  description: `Changes the schema of the application's database: its option "database", otherwise DATABASE_URL. Behind a pooler set
DATABASE_DIRECT_URL. The application is not started. "filigree": { "engines": […] } in package.json names the engines that files
are written and checked for.`,
  actions,
  options: flags,
  examples: [
    'filigree migrate make add-price',
    'filigree migrate up',
    'filigree migrate down --steps 2',
  ],
  run,
}

interface Arguments {
  readonly action: Action
  readonly name: string
  readonly module: string | undefined
  readonly folder: string
  readonly steps: number
  readonly empty: boolean
  readonly json: boolean
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const options = toArguments(args)
  if (options.empty) return makeEmpty(options, terminal)
  const application = await loadApplication(options.module, terminal)
  const plan = await planForDatabase(application)
  const engine = engineInUse(plan, application.options.database)
  if (options.action === 'check') return check(plan.records, engine, options, terminal)
  const open = await openDatabase(plan, application.options.database, terminal)
  try {
    const code = await runAction(open, { ...options, action: options.action }, terminal)
    if (options.action !== 'up' && options.action !== 'down')
      await reportUncovered(engine, options, terminal)
    return code
  } finally {
    await open.close()
  }
}

/** Warns if there are no migrations for the engine of the database in use. */
async function reportUncovered(
  engine: string | undefined,
  options: Arguments,
  { cwd, err }: Terminal,
): Promise<void> {
  if (engine === undefined) return
  const found = await findUncovered(resolve(cwd, options.folder), engine, await readEngines(cwd))
  if (found !== undefined) await err(`${found.what}\n${found.remedy}\n`)
}

/** Runs without an application. */
async function makeEmpty(options: Arguments, terminal: Terminal): Promise<number> {
  const folder = resolve(terminal.cwd, options.folder)
  const engines = await readEngines(terminal.cwd)
  const paths = await makeEmptyMigration(options.name, { folder, engines })
  const files = paths.map((file) => relative(terminal.cwd, file))
  await terminal.out(
    options.json ? toJson({ files, applied: [], warnings: [] }) : `${files.join('\n')}\n`,
  )
  return exitCodes.done
}

/** Runs without a database. */
async function check(
  records: readonly Class[],
  engine: string | undefined,
  options: Arguments,
  terminal: Terminal,
): Promise<number> {
  const problems: Problem[] = []
  const tables = readTables(records, problems)
  if (problems.length > 0) throw new DeclarationError(problems)
  const folder = resolve(terminal.cwd, options.folder)
  const engines = await readEngines(terminal.cwd)
  const found = [...(await checkMigrations(tables, { folder, engines }))]
  const uncovered = engine === undefined ? undefined : await findUncovered(folder, engine, engines)
  // If package.json names the engines, development can use another one.
  if (uncovered !== undefined && engines === undefined) found.push(uncovered.what)
  if (options.json) {
    await terminal.out(toJson({ problems: found }))
    return found.length === 0 ? exitCodes.done : exitCodes.failed
  }
  if (found.length === 0) {
    await terminal.out('The migrations fit the records.\n')
    return exitCodes.done
  }
  const fix = 'Write a migration: filigree migrate make <name>.'
  await terminal.err(`${[...found, fix].join('\n')}\n`)
  return exitCodes.failed
}

async function runAction(
  database: Database,
  options: Arguments & { readonly action: Exclude<Action, 'check'> },
  terminal: Terminal,
): Promise<number> {
  const folder = resolve(terminal.cwd, options.folder)
  switch (options.action) {
    case 'make': {
      const engines = await readEngines(terminal.cwd)
      const migration = await makeMigration(database, options.name, { folder, engines })
      const files = migration?.files.map((file) => relative(terminal.cwd, file)) ?? []
      if (options.json) {
        const { applied = [], warnings = [] } = migration ?? {}
        await terminal.out(toJson({ files, applied, warnings }))
        return exitCodes.done
      }
      const lines =
        migration === undefined
          ? [
              'The migrations already fit the records: no new one is needed.',
              'For your own statements use --empty.',
            ]
          : files
      migration?.applied.forEach((name) => lines.push(`already applied to this database: ${name}`))
      await terminal.out(`${lines.join('\n')}\n`)
      if (migration !== undefined && migration.warnings.length > 0)
        await terminal.err(migration.warnings.map((warning) => `warning: ${warning}\n`).join(''))
      return exitCodes.done
    }
    case 'up':
      return up(database, folder, options, terminal)
    case 'down':
      return down(database, folder, options, terminal)
    case 'status':
      return status(database, folder, options, terminal)
  }
}

/** Prints each migration with its time as soon as it has run. */
async function up(
  database: Database,
  folder: string,
  { json }: Arguments,
  { out, progress }: Terminal,
): Promise<number> {
  const ran = await migrateUp(database, {
    folder,
    onStart: (name) => progress?.(`running: ${name} …`),
    onDone: (name, milliseconds) => {
      if (!json) void out(`ran: ${name} (${describeTime(milliseconds)})\n`)
    },
  })
  if (json) await out(toJson({ ran }))
  else if (ran.length === 0) await out('Nothing to do.\n')
  return exitCodes.done
}

async function down(
  database: Database,
  folder: string,
  { steps, json }: Arguments,
  { out, err }: Terminal,
): Promise<number> {
  const undone = await migrateDown(database, { folder, steps })
  const notUndone = await findNotUndone(database, undone, { folder })
  if (json) {
    await out(toJson({ takenBack: undone, notTakenBack: notUndone }))
    return exitCodes.done
  }
  const lines = undone.map((name) => `undone: ${name}\n`)
  await out(lines.length === 0 ? 'Nothing to do.\n' : lines.join(''))
  await err(notUndone.map((message) => `not undone: ${message}\n`).join(''))
  return exitCodes.done
}

async function status(
  database: Database,
  folder: string,
  { json }: Arguments,
  { out }: Terminal,
): Promise<number> {
  const all = await migrationStatus(database, { folder })
  const lines = all.map(({ name, state }) => `${state.padEnd(7)} ${name}\n`)
  if (json) await out(toJson(all))
  else await out(lines.length === 0 ? 'There are no migrations.\n' : lines.join(''))
  return all.every(({ state }) => state === 'applied') ? exitCodes.done : exitCodes.failed
}

function toArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args, flags, 2)
  const [action, name = ''] = positionals
  if (!isAction(action)) {
    const names = Object.keys(actions)
    const suggestion = action === undefined ? '' : didYouMean(action, names)
    throw new UsageError(
      suggestion === '' ? `the action is missing. Actions: ${names.join(', ')}.` : suggestion,
    )
  }
  if (action === 'make' && name === '')
    throw new UsageError('the name is missing. Write make add-price.')
  if (action !== 'make' && name !== '')
    throw new UsageError(`unexpected argument ${JSON.stringify(name)}.`)
  const { module, folder = 'migrations', empty, json } = values
  if (empty && action !== 'make') throw new UsageError('--empty is only for make.')
  const steps = readInteger('--steps', values.steps ?? '1')
  return { action, name, module, folder, steps, empty, json }
}

function isAction(text: string | undefined): text is Action {
  return text !== undefined && Object.hasOwn(actions, text)
}
