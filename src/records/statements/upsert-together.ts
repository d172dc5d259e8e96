/** An upsert with one statement, if the existing row need not be read first. See upsert.ts. */
import { HttpError } from '../../errors/http-error.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { hasWriteHooks } from '../model/write-hooks.js'
import { namesRelations } from './read-nested.js'
import { hasAddition } from './additions.js'
import type { Source } from './source.js'
import { referencesToMarked } from './undeleted-references.js'
import { announced, runRows, type Instance } from './write-row.js'
import { valuesToInsert } from './write-values.js'

/** @returns the row; `undefined` if it must be read first */
export async function upsertTogether(
  table: Table,
  source: Source,
  by: readonly Column[],
  given: object,
): Promise<Instance | undefined> {
  const { context } = source
  const { key, version, deletedAt } = table
  const checks = context.checksOf(table)
  const names = Object.keys(given)
  const isPlain = !hasWriteHooks(table) && deletedAt === undefined && checks.row === undefined
  // Unique values are so within a shard, by which the row is looked for.
  if (table.shard !== undefined) return undefined
  if (!isPlain || by.includes(key) || hasAddition(table, given)) return undefined
  if (namesRelations(table, given)) return undefined
  if (referencesToMarked(table).some(({ local }) => local.property in given)) return undefined
  if (names.some((name) => name === key.property || name === version?.property)) return undefined
  // Listeners must know whether it was created or changed.
  if (await source.feed.follows(table, source.runner())) return undefined
  const record = await draft(() => checks.create(given))
  if (record === undefined) return undefined
  if (version !== undefined) record[version.property] = 1
  const codec = context.codecOf(table)
  const { columns, values } = valuesToInsert(table, codec, record)
  const changed = namedColumns(table, given, by)
  if (changed.length === 0) return undefined
  const plan = context.plansOf(table).upsert(by, columns, changed)
  return announced<Instance | undefined>(table, source, async (here) => {
    const [row] = await runRows(table, here, { plan, values, doing: 'write', record })
    if (row === undefined) return undefined
    // A listener may begin to follow before the commit; this event tells it that there are more changes than can be
    // named.
    here.changed({ event: 'lost', table, ids: [] })
    return codec.readRow(row) as Instance
  })
}

/** Values that do not make a whole row may still change one. */
async function draft(create: () => Instance | Promise<Instance>): Promise<Instance | undefined> {
  try {
    return await create()
  } catch (error) {
    if (error instanceof HttpError && error.status === 400) return undefined
    throw error
  }
}

/** The columns that an existing row takes over. */
function namedColumns(table: Table, given: object, by: readonly Column[]): Column[] {
  const values: Instance = {}
  for (const column of table.columns) {
    const { property } = column
    const value = (given as Instance)[property]
    if (value !== undefined && !by.includes(column)) values[property] = value
  }
  const named = table.columns.filter(({ property }) => property in values)
  if (named.length === 0) return []
  const { updatedAt } = table
  return updatedAt === undefined || named.includes(updatedAt) ? named : [...named, updatedAt]
}
