/**
 * The writes of other programs: which tables have triggers that announce them (`filigree changes`), and the migrations that make or
 * remove these triggers. Announced writes arrive in the change feed like those of another process.
 */
import type {
  AnnouncedState,
  AnnouncedTable,
  AnnounceSql,
} from '../../engines/contract/announce-sql.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { frameworkQuery } from '../../engines/contract/statement.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { makeWrittenMigration, type MakeOptions } from './make-migration.js'
import type { Table } from '../model/table.js'
import { distributedTables } from '../schema/schema.js'
import type { RecordsContext } from '../statements/source.js'

/** The tables of records, and their join tables. */
export function announcedTablesOf(tables: Iterable<Table>): AnnouncedTable[] {
  const found = new Map<string, AnnouncedTable>()
  const joins = new Map<string, AnnouncedTable>()
  const all = [...tables]
  const distributed = distributedTables(all)
  for (const table of all) {
    const { name, key, deletedAt, relations } = table
    const isDistributed = distributed.has(table)
    found.set(name, { name, key: nameableKey(key), deletedAt, changes: [name], isDistributed })
    for (const { join, target } of relations.values()) {
      if (join === undefined) continue
      const changes = [...new Set([name, target.name])].sort()
      joins.set(join.name, {
        name: join.name,
        key: undefined,
        deletedAt: undefined,
        changes,
        isDistributed: false,
      })
    }
  }
  // A join table may have a record of its own, whose readers follow it too.
  for (const [name, join] of joins) {
    const { changes } = join
    const own = found.get(name)
    found.set(
      name,
      own === undefined ? join : { ...own, key: undefined, changes: [...own.changes, ...changes] },
    )
  }
  return [...found.values()]
}

/** Values that every session writes alike. */
const plainStorage: ReadonlySet<Column['storage']> = new Set(['integer', 'wide', 'text'])

function nameableKey(key: Column): Column | undefined {
  const columns = storedColumnsOf(key)
  const isPlain = columns.length > 0 && columns.every(({ storage }) => plainStorage.has(storage))
  return isPlain ? key : undefined
}

type Action = 'install' | 'remove'

/**
 * Writes a migration that makes or removes the triggers of these tables.
 *
 * @returns the paths of the files
 */
export function makeAnnouncements(
  action: Action,
  tables: readonly AnnouncedTable[],
  options: MakeOptions,
): Promise<readonly string[]> {
  return makeWrittenMigration(
    action === 'install' ? 'announce-changes' : 'do-not-announce-changes',
    ({ product, tables: { announce } }) => {
      if (announce === undefined) return withoutMessages(product)
      const [up, down] =
        action === 'install'
          ? [announce.install(tables), announce.remove(tables)]
          : [announce.remove(tables), announce.install(tables)]
      return `${heading}\n\n${up}\n\n-- down\n\n${down}\n`
    },
    options,
  )
}

const heading = `-- Writes of other programs reach the live queries and caches of the application: filigree changes.`

function withoutMessages({ title }: Dialect['product']): string {
  return `-- Nothing to do: ${title} has no messages. Processes look for writes of other programs themselves.\n\n-- down\n`
}

/** Whether writes of other programs to a table are announced. */
export interface TableAnnouncement {
  readonly table: string
  readonly state: AnnouncedState
}

/** @returns `undefined` if the database has no messages */
export async function readAnnouncements(
  tables: Iterable<Table>,
  { engine, dialect }: Pick<RecordsContext, 'engine' | 'dialect'>,
): Promise<readonly TableAnnouncement[] | undefined> {
  const { announce } = dialect.tables
  if (announce === undefined) return undefined
  const triggers = await readTriggers(announce, engine)
  return announcedTablesOf(tables).map((table) => ({
    table: table.name,
    state:
      table.isDistributed && !dialect.can.triggersOnShards
        ? 'impossible'
        : announce.stateOf(table, triggers.get(table.name) ?? new Map()),
  }))
}

/** @returns the arguments of the triggers of each table, by their names */
async function readTriggers(
  { triggers }: AnnounceSql,
  engine: RecordsContext['engine'],
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const found = new Map<string, Map<string, string>>()
  for (const [table, name, given] of await engine.run(frameworkQuery(triggers), [], 'rows')) {
    const ofTable = found.get(String(table)) ?? new Map<string, string>()
    found.set(String(table), ofTable.set(String(name), String(given)))
  }
  return found
}
