/** `filigree migrate`: writes, runs, takes back and lists the schema changes of an application's records. */
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { toDatabaseOptions } from '../bootstrap/storage.js'
import { planApplication } from '../bootstrap/plan-application.js'
import { silentLog, type Log } from '../core/log.js'
import { createDatabase, Database } from '../records/database.js'
import { makeMigration } from '../records/migrations/make-migration.js'
import { migrateDown, migrateUp, migrationStatus } from '../records/migrations/migrations.js'
import { loadApplication } from './load-application.js'
import type { Command } from './command.js'
import { exitCodes, UsageError, type Terminal } from './terminal.js'

const usage = `filigree migrate make <name> | up | down | status  [--module module.js] [--folder migrations]
  Changes the schema of the application's database (its option \`database\`, else DATABASE_URL;
  DATABASE_DIRECT_URL where a pooler stands before it), which is not started.
  make <name>       writes a migration for every engine, <stamp>_<name>.<engine>.sql, to be read before it runs: from
                    where the earlier ones lead to what the records want
  up                runs what has not run yet, each in a transaction, one process at a time
  down              takes the last one back; --steps 2 the last two
  status            lists all, and exits with 1 where one has not run`

export const migrateCommand: Command = { usage, run }

const actions = ['make', 'up', 'down', 'status'] as const
type Action = (typeof actions)[number]

interface Arguments {
  readonly action: Action
  readonly name: string
  readonly module: string | undefined
  readonly folder: string
  readonly steps: number
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const given = readArguments(args)
  const { module, options } = await loadApplication(given.module, terminal)
  const { records, environment } = await planApplication(module, { ...options, logger: false })
  const database = options.database ?? environment.databaseUrl
  const open =
    database instanceof Database
      ? database
      : await createDatabase({
          records,
          ...toDatabaseOptions(database),
          direct: environment.databaseDirectUrl,
          log: warningsTo(terminal),
        })
  try {
    for (const record of records) open.table(record)
    return await act(open, given, terminal)
  } finally {
    await open.close()
  }
}

/** Shows what is waited for. */
function warningsTo({ err }: Terminal): Log {
  const warn = (_details: object, message: string): void => {
    void err(`${message}\n`)
  }
  return { ...silentLog, warn, error: warn }
}

async function act(database: Database, given: Arguments, terminal: Terminal): Promise<number> {
  const folder = resolve(terminal.cwd, given.folder)
  switch (given.action) {
    case 'make': {
      const made = await makeMigration(database, given.name, { folder })
      const lines = made?.files.map((file) => relative(terminal.cwd, file)) ?? [
        'Nothing differs: no migration is needed.',
      ]
      made?.applied.forEach((name) => lines.push(`this database has it already: ${name}`))
      await terminal.out(`${lines.join('\n')}\n`)
      return exitCodes.done
    }
    case 'up':
      return tell(await migrateUp(database, { folder }), 'ran', terminal)
    case 'down':
      return tell(
        await migrateDown(database, { folder, steps: given.steps }),
        'taken back',
        terminal,
      )
    case 'status': {
      const all = await migrationStatus(database, { folder })
      const lines = all.map(({ name, state }) => `${state.padEnd(7)} ${name}\n`)
      await terminal.out(lines.length === 0 ? 'There are no migrations.\n' : lines.join(''))
      return all.every(({ state }) => state === 'applied') ? exitCodes.done : exitCodes.failed
    }
  }
}

async function tell(names: readonly string[], what: string, terminal: Terminal): Promise<number> {
  await terminal.out(
    names.length === 0 ? 'Nothing to do.\n' : names.map((name) => `${what}: ${name}\n`).join(''),
  )
  return exitCodes.done
}

function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parse(args)
  const [action, name = '', ...rest] = positionals
  if (!isAction(action)) throw new UsageError(`say what: ${actions.join(', ')}.`)
  if (action === 'make' && name === '') throw new UsageError('make needs a name: make add-price.')
  if (rest.length > 0 || (action !== 'make' && name !== ''))
    throw new UsageError('it takes no more words.')
  const steps = Number(values.steps ?? '1')
  if (!Number.isSafeInteger(steps) || steps < 1) throw new UsageError('--steps is a number from 1.')
  return { action, name, module: values.module, folder: values.folder ?? 'migrations', steps }
}

function parse(args: readonly string[]): {
  values: { module?: string; folder?: string; steps?: string }
  positionals: string[]
} {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        module: { type: 'string' },
        folder: { type: 'string' },
        steps: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function isAction(word: string | undefined): word is Action {
  return actions.some((action) => action === word)
}
