/**
 * `filigree changes`: whether live queries, caches and the history learn of the writes of other programs, and the migrations that
 * let them.
 */
import { relative } from 'node:path'
import type { AnnouncedTable } from '../../engines/contract/announce-sql.js'
import { storedColumnsOf } from '../../engines/contract/table.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { Problems } from '../../errors/problems.js'
import {
  announcedTablesOf,
  makeAnnouncements,
  readAnnouncements,
  type TableAnnouncement,
} from '../../records/migrations/announce-changes.js'
import { findMigrationsFolder } from '../../records/migrations/migration-files.js'
import type { Table } from '../../records/model/table.js'
import { readTables } from '../../records/model/read-table.js'
import { defineCommand, flag, moduleOption, option, type Terminal, UsageError } from '../command.js'
import {
  loadApplication,
  openForReading,
  planForDatabase,
  type LoadedApplication,
} from '../load-application.js'
import { toJson, toTable } from '../output.js'
import { readEngines } from '../project-files.js'

const actions = {
  status: 'says which tables are announced, and what live queries, caches and the history see',
  install: 'writes a migration with triggers that announce the writes of other programs',
  remove: 'writes a migration that drops these triggers',
} as const

export const changesCommand = defineCommand({
  group: 'Data',
  usage: 'filigree changes status | install [tables…] | remove [tables…]',
  summary: 'lets live queries and caches see the writes of other programs',
  description: `For tables that other programs write too. On PostgreSQL, triggers announce their writes like those of another process of
the application. Name records or tables; without names, all of them are meant. Run the migration with filigree migrate up.`,
  actions,
  options: {
    folder: option('<folder>', 'the folder of the migrations. Default: migrations'),
    module: moduleOption,
    json: flag('prints one JSON value'),
  },
  examples: [
    'filigree changes status',
    'filigree changes install orders order_lines',
    'filigree changes remove orders',
  ],
  maxPositionals: Infinity,
  run: async ({ values, positionals: [action = 'status', ...names] }, terminal) => {
    if (!Object.hasOwn(actions, action)) {
      const known = Object.keys(actions)
      throw new UsageError(didYouMean(action, known) || `actions: ${known.join(', ')}.`)
    }
    const application = await loadApplication(values.module, terminal)
    if (action === 'status') {
      if (names.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(names[0])}.`)
      return printStatus(application, values.json, terminal)
    }
    const { records } = await planForDatabase(application)
    const problems = new Problems()
    const tables = readTables(records, problems)
    problems.throwIfAny()
    const chosen = chooseTables([...tables], names)
    const paths = await makeAnnouncements(action as 'install' | 'remove', chosen, {
      folder: findMigrationsFolder(terminal.cwd, values.folder),
      engines: await readEngines(terminal.cwd),
    })
    const files = paths.map((path) => relative(terminal.cwd, path))
    const next = 'Read the files, and run them: filigree migrate up.'
    const lines = [...files, next, ...withoutTriggersOnCitus(chosen)]
    await terminal.out(values.json ? toJson({ files }) : `${lines.join('\n')}\n`)
    return true
  },
})

/** @throws {UsageError} for a name of neither a record nor a table */
function chooseTables(tables: readonly Table[], names: readonly string[]): AnnouncedTable[] {
  // A view, or a table without a key, is only meant by its name.
  const keyed = tables.filter(({ key }) => storedColumnsOf(key).length > 0)
  if (names.length === 0) return announcedTablesOf(keyed)
  const all = announcedTablesOf(tables)
  const byName = new Map(all.map((one) => [one.name, one]))
  for (const { type, name } of tables) {
    const table = byName.get(name)
    if (table !== undefined && !byName.has(type.name)) byName.set(type.name, table)
  }
  const chosen = names.map((name) => {
    const table = byName.get(name)
    if (table !== undefined) return table
    const hint = didYouMean(name, byName.keys()) || `Tables: ${[...byName.keys()].join(', ')}.`
    throw new UsageError(`${JSON.stringify(name)} is neither a record nor a table. ${hint}`)
  })
  return [...new Set(chosen)]
}

/** The files make no triggers on these tables where Citus distributes them. */
function withoutTriggersOnCitus(tables: readonly AnnouncedTable[]): string[] {
  const names = tables.filter(({ isDistributed }) => isDistributed).map(({ name }) => name)
  if (names.length === 0) return []
  return [
    `Citus allows no triggers on ${names.join(', ')}. There, let the other programs send the messages in the files.`,
  ]
}

async function printStatus(
  application: LoadedApplication,
  json: boolean,
  terminal: Terminal,
): Promise<boolean> {
  const plan = await planForDatabase(application)
  const { database } = await openForReading(plan, application.options.database, terminal)
  try {
    const tables = await readAnnouncements(database.tables, database.context)
    const sees = tables === undefined ? withoutMessages : withMessages
    if (json) await terminal.out(toJson({ tables: tables ?? [], ...sees }))
    else await terminal.out(describe(tables, sees))
    return tables?.every(({ state }) => state !== 'outdated') ?? true
  } finally {
    await database.close()
  }
}

interface Sight {
  readonly live: string
  readonly caches: string
  readonly history: string
}

const history = 'writes of the application only, never those of other programs'

const withMessages: Sight = {
  live: 'writes to announced tables, after their commit',
  caches: 'writes to announced tables; other entries end with their time to live',
  history,
}

const withoutMessages: Sight = {
  live: 'all writes, within 0.1 seconds: the file is asked for commits of other connections',
  caches: 'all writes: every commit of another connection discards all entries',
  history,
}

function describe(
  tables: readonly TableAnnouncement[] | undefined,
  { live, caches, history: entries }: Sight,
): string {
  const states =
    tables === undefined ? '' : `${toTable(tables.map(({ table, state }) => [table, state]))}\n`
  const isOutdated = tables?.some(({ state }) => state === 'outdated') === true
  const next = isOutdated ? '\nMake the triggers anew: filigree changes install\n' : ''
  return `${states}What other programs write is seen by:\n${toTable([
    ['live queries', live],
    ['caches', caches],
    ['history', entries],
  ])}${next}`
}
