/** `filigree migrate`: writes, runs, undoes and lists the migrations of an application's records. */
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
import { type Command, exitCodes, UsageError, type Terminal, readArguments } from '../command.js'
import { engineInUse, openDatabase } from '../open-database.js'
import { readEngines } from '../package-files.js'

const usage = `filigree migrate make <name> | up | down | status | check  [--module module.js] [--folder migrations] [--json]
  Changes the schema of the application's database (its option \`database\`, else DATABASE_URL;
  DATABASE_DIRECT_URL where a pooler stands before it), which is not started.
  make <name>       writes a migration for every engine, <stamp>_<name>.<engine>.sql, to be read before it runs: from
                    where the earlier ones lead to what the records want; --empty for statements of your own
  up                runs what has not run yet, each in a transaction, one process at a time
  down              takes the last one back; --steps 2 the last two; names what it cannot take back
  status            lists all, and exits with 1 where one has not run
  check             exits with 1 where the files do not lead to what the records want, and names the fields; needs no database
  --json            what was made, run, taken back or found, as one value on standard output
  "filigree": { "engines": […] } in package.json says for which engines files are written and checked;
  make and status name the engine of the database in use if it has no files`

export const migrateCommand: Command = { usage, summary: 'the migrations of its records', run }

const actions = ['make', 'up', 'down', 'status', 'check'] as const
type Action = (typeof actions)[number]

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
              'For statements of your own: --empty.',
            ]
          : files
      migration?.applied.forEach((name) => lines.push(`already in this database: ${name}`))
      await terminal.out(`${lines.join('\n')}\n`)
      if (migration !== undefined && migration.warnings.length > 0)
        await terminal.err(migration.warnings.map((warning) => `warning: ${warning}\n`).join(''))
      return exitCodes.done
    }
    case 'up':
      return printNames(await migrateUp(database, { folder }), 'ran', options, terminal)
    case 'down': {
      const undone = await migrateDown(database, { folder, steps: options.steps })
      const notUndone = await findNotUndone(database, undone, { folder })
      if (options.json) {
        await terminal.out(toJson({ takenBack: undone, notTakenBack: notUndone }))
        return exitCodes.done
      }
      const code = await printNames(undone, 'taken back', options, terminal)
      await terminal.err(notUndone.map((message) => `not taken back: ${message}\n`).join(''))
      return code
    }
    case 'status': {
      const all = await migrationStatus(database, { folder })
      if (options.json) await terminal.out(toJson(all))
      const lines = all.map(({ name, state }) => `${state.padEnd(7)} ${name}\n`)
      if (!options.json)
        await terminal.out(lines.length === 0 ? 'There are no migrations.\n' : lines.join(''))
      return all.every(({ state }) => state === 'applied') ? exitCodes.done : exitCodes.failed
    }
  }
}

async function printNames(
  names: readonly string[],
  verb: string,
  { json }: Arguments,
  terminal: Terminal,
): Promise<number> {
  if (json) {
    await terminal.out(toJson({ ran: names }))
    return exitCodes.done
  }
  await terminal.out(
    names.length === 0 ? 'Nothing to do.\n' : names.map((name) => `${verb}: ${name}\n`).join(''),
  )
  return exitCodes.done
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function toArguments(args: readonly string[]): Arguments {
  const kinds = {
    module: 'text',
    folder: 'text',
    steps: 'text',
    empty: 'switch',
    json: 'switch',
  } as const
  const { values, positionals } = readArguments(args, kinds, 'any')
  const [action, name = '', ...rest] = positionals
  if (!isAction(action)) {
    const near = action === undefined ? '' : didYouMean(action, actions)
    throw new UsageError(near === '' ? `say what: ${actions.join(', ')}.` : near)
  }
  if (action === 'make' && name === '') throw new UsageError('make needs a name: make add-price.')
  if (rest.length > 0 || (action !== 'make' && name !== ''))
    throw new UsageError('too many arguments.')
  const { module, folder = 'migrations', empty, json } = values
  if (empty && action !== 'make') throw new UsageError('--empty belongs to make.')
  const steps = Number(values.steps ?? '1')
  if (!Number.isSafeInteger(steps) || steps < 1) throw new UsageError('--steps is a number from 1.')
  return { action, name, module, folder, steps, empty, json }
}

function isAction(word: string | undefined): word is Action {
  return actions.some((action) => action === word)
}
