/** Prepares the target of a copy, and completes it: own tables, generated numbers, statistics and references. */
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { DatabaseSnapshot } from '../../engines/contract/exchange.js'
import type { ActualTable } from '../../engines/contract/table-schema.js'
import type { Runner } from '../../engines/contract/engine.js'
import { frameworkQuery, frameworkScript } from '../../engines/contract/statement.js'
import type { Database } from '../database.js'
import { needsMigration } from '../migrations/migration-text.js'
import { createOwnTable } from '../own-tables.js'
import { copyError } from './copy-error.js'
import type { CopiedReference, CopiedTable } from './copy-plan.js'

/** @throws {DeclarationError} `COPY_FAILED` if the tables of the target do not fit the records */
export async function checkTargetSchema(target: Database): Promise<void> {
  const differences = await target.differences()
  const found = differences.filter((one) =>
    one.isManaged === false ? one.blocks : needsMigration([one]),
  )
  if (found.length === 0) return
  throw copyError(
    `The target does not have the current schema: ${found.map(({ message }) => message).join(' ')}`,
    undefined,
    'Run filigree migrate up with the address of the target in DATABASE_URL.',
  )
}

/** Creates the framework's own tables that the target does not have yet, in the form of the source. */
export async function createOwnTables(
  target: Database,
  tables: readonly ActualTable[],
): Promise<void> {
  for (const table of tables) await createOwnTable(target, table.name, writeCreate(table))
}

function writeCreate({ name, columns, primaryKey = [], indexes }: ActualTable): string {
  const list = [...columns.values()].map(({ name: column, type, nullable, preset }) => {
    const value = preset === undefined ? '' : ` default ${preset}`
    return `${quote(column)} ${type}${nullable ? '' : ' not null'}${value}`
  })
  if (primaryKey.length > 0) list.push(`primary key (${primaryKey.map(quote).join(', ')})`)
  const create = `create table if not exists ${quote(name)} (${list.join(', ')})`
  const creates = [...indexes].map(
    ([index, { columns: parts, unique }]) =>
      `create ${unique ? 'unique ' : ''}index if not exists ${quote(index)} on ${quote(name)} (${parts.map(quote).join(', ')})`,
  )
  return [create, ...creates].join(';\n')
}

/** @throws {DeclarationError} `COPY_FAILED` if a table has rows */
export async function checkEmpty(target: Database, tables: readonly CopiedTable[]): Promise<void> {
  for (const { name } of tables) {
    const query = frameworkQuery(`select 1 from ${quoteTable(name)} limit 1`, { isFresh: true })
    const row = await target.context.engine.run(query, [], 'first')
    if (row === undefined) continue
    throw copyError(
      `Table ${name} of the target has rows.`,
      undefined,
      'Empty the target. A copy that was interrupted continues with --continue.',
    )
  }
}

/** Lets generated numbers of the target continue after those of the source. */
export async function copyCounters(
  source: { readonly runner: Runner; readonly database: Database },
  target: { readonly runner: Runner; readonly database: Database },
  tables: readonly CopiedTable[],
): Promise<void> {
  for (const { name, sourceName, columns } of tables)
    for (const column of columns.filter(({ isCounted }) => isCounted)) {
      const { readCounter } = source.database.context.dialect.bulk.exchange
      const isNumbered = column.source.increment === true || column.source.preset !== undefined
      const last = isNumbered
        ? await readCounter(source.runner, sourceName, column.name)
        : undefined
      const largest = last ?? ((await hasRows(target.runner, name)) ? '0' : undefined)
      if (largest === undefined) continue
      const { writeCounter } = target.database.context.dialect.bulk.exchange
      await writeCounter(target.runner, name, column.name, largest)
    }
}

async function hasRows(runner: Runner, table: string): Promise<boolean> {
  const query = frameworkQuery(`select 1 from ${quoteTable(table)} limit 1`, { isFresh: true })
  return (await runner.run(query, [], 'first')) !== undefined
}

export async function analyzeTables(
  runner: Runner,
  database: Database,
  tables: readonly CopiedTable[],
): Promise<void> {
  const { analyze } = database.context.dialect.bulk.exchange
  for (const { name } of tables)
    await runner.run(frameworkScript(analyze(quoteTable(name))), [], 'nothing')
}

/** @throws {DeclarationError} `COPY_FAILED` if a row refers to a missing row */
export async function checkReferences(
  snapshot: DatabaseSnapshot,
  tables: readonly CopiedTable[],
): Promise<void> {
  for (const table of tables)
    for (const reference of table.references) {
      const row = await snapshot.run(frameworkQuery(brokenReference(table, reference)), [], 'first')
      if (row === undefined) continue
      const { columns, table: referred } = reference
      const key = row.map(String).join(', ')
      throw copyError(
        `Table ${table.name}, row ${key}, column ${columns.join(', ')}: it refers to no row of ${referred}.`,
      )
    }
}

/** A query for the key of a row that refers to a missing row. */
function brokenReference(
  { name, targetKey, columns: [first] }: CopiedTable,
  { columns, table, foreignColumns }: CopiedReference,
): string {
  const key = targetKey.length > 0 ? targetKey : [first?.name ?? '']
  const pairs = columns.map(
    (column, index) => `r.${quote(foreignColumns[index] ?? '')} = t.${quote(column)}`,
  )
  const isSet = columns.map((column) => `t.${quote(column)} is not null`)
  return `select ${key.map((column) => `t.${quote(column)}`).join(', ')} from ${quoteTable(name)} t
    where ${isSet.join(' and ')} and not exists (select 1 from ${quoteTable(table)} r where ${pairs.join(' and ')}) limit 1`
}
