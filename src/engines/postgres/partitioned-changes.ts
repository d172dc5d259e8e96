/**
 * Changes of partitioned tables that do not block other work. PostgreSQL makes such changes only partition by partition:
 *
 * ```sql
 * create index concurrently "event_title_idx" on "event" ("title")
 * -- becomes
 * create index if not exists "event_title_idx" on only "event" ("title");
 * create index concurrently "event_2026_11_8d1c04aa" on "event_2026_11" ("title");   -- for each partition
 * alter index "event_title_idx" attach partition "event_2026_11_8d1c04aa";
 * ```
 *
 * A reference is added and checked for each partition. The reference of the table then takes them over. Sources: PostgreSQL,
 * Table Partitioning (5.12.2.2), ALTER INDEX, ALTER TABLE.
 */
import { createHash } from 'node:crypto'
import type { Row, Runner } from '../contract/engine.js'
import { quote } from '../contract/quote.js'
import { frameworkQuery } from '../contract/statement.js'

const quoted = '"(?:[^"]|"")+"'
const path = `(?:${quoted}\\.)?${quoted}`
const createIndex = new RegExp(
  `^create (unique )?index concurrently (${quoted}) on (${path})([\\s\\S]*)$`,
  'i',
)
const dropIndex = new RegExp(`^drop index concurrently (?:if exists )?(${path})$`, 'i')
const addReference = new RegExp(
  `^alter table (${path}) add constraint (${quoted}) (foreign key [\\s\\S]*) not valid$`,
  'i',
)
const validate = new RegExp(`^alter table (${path}) validate constraint (${quoted})$`, 'i')

/** @returns the statements for a partitioned table in place of one; the statement itself for all others */
export async function forPartitions(statement: string, runner: Runner): Promise<readonly string[]> {
  const text = statement.trim().replace(/^(?:--.*\n\s*)+/, '')
  const created = createIndex.exec(text)
  if (created !== null) return (await createIndexes(created, runner)) ?? [statement]
  const dropped = dropIndex.exec(text)
  if (dropped !== null) {
    const isPartitioned = await exists(runner, 'I', dropped[1] ?? '')
    return [isPartitioned ? `drop index if exists ${dropped[1] ?? ''}` : statement]
  }
  const added = addReference.exec(text)
  if (added !== null) return (await addReferences(added, runner)) ?? [statement]
  const validated = validate.exec(text)
  if (validated !== null) return (await validateReferences(validated, runner)) ?? [statement]
  return [statement]
}

async function createIndexes(
  [, unique = '', index = '', table = '', rest = '']: RegExpExecArray,
  runner: Runner,
): Promise<string[] | undefined> {
  const partitions = await partitionsOf(runner, table)
  if (partitions === undefined) return undefined
  const schema = table.includes('.') ? table.slice(0, table.indexOf('.') + 1) : ''
  const mark = createHash('sha256').update(index).digest('hex').slice(0, 8)
  return [
    `create ${unique}index if not exists ${index} on only ${table}${rest}`,
    ...partitions.flatMap(({ name, bare }) => {
      const own = quote(`${bare.slice(0, 54)}_${mark}`)
      return [
        `drop index concurrently if exists ${schema}${own}`,
        `create ${unique}index concurrently ${own} on ${name}${rest}`,
        `alter index ${schema}${index} attach partition ${schema}${own}`,
      ]
    }),
  ]
}

async function addReferences(
  [, table = '', constraint = '', reference = '']: RegExpExecArray,
  runner: Runner,
): Promise<string[] | undefined> {
  const partitions = await partitionsOf(runner, table)
  return partitions?.map(
    ({ name }) =>
      `alter table ${name} drop constraint if exists ${constraint}, add constraint ${constraint} ${reference} not valid`,
  )
}

async function validateReferences(
  [statement = '', table = '', constraint = '']: RegExpExecArray,
  runner: Runner,
): Promise<string[] | undefined> {
  const partitions = await partitionsOf(runner, table)
  if (partitions === undefined) return undefined
  const name = constraint.slice(1, -1).replaceAll('""', '"')
  const rows = await readAll(runner, referenceSql, [table, name])
  const definition = rows[0]?.[0] as string | undefined
  // A check, which is validated for all partitions together.
  if (definition === undefined) return [statement]
  const reference = definition.replace(/ NOT VALID$/, '')
  return [
    ...partitions.map((one) => `alter table ${one.name} validate constraint ${constraint}`),
    `alter table ${table} add constraint ${constraint} ${reference}`,
  ]
}

interface Partition {
  /** Quoted, with its schema if the table was named with it. */
  readonly name: string
  readonly bare: string
}

/** @param table quoted. @returns `undefined` if it is not partitioned */
async function partitionsOf(runner: Runner, table: string): Promise<Partition[] | undefined> {
  if (!(await exists(runner, 'p', table))) return undefined
  const schema = table.includes('.') ? table.slice(0, table.indexOf('.') + 1) : ''
  const rows = await readAll(runner, partitionsSql, [table])
  return rows.map(([name]) => ({ name: `${schema}${quote(String(name))}`, bare: String(name) }))
}

async function exists(runner: Runner, kind: 'p' | 'I', name: string): Promise<boolean> {
  return (await readAll(runner, existsSql, [name, kind])).length > 0
}

async function readAll(
  runner: Runner,
  sql: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  return (await runner.run(frameworkQuery(sql, { isFresh: true }), values, 'all')).rows
}

const existsSql = `select 1 from pg_class
  where oid = to_regclass(cast($1 as text)) and relkind::text = cast($2 as text)`

const partitionsSql = `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = to_regclass(cast($1 as text)) order by 1`

const referenceSql = `select pg_get_constraintdef(k.oid) from pg_inherits i
  join pg_constraint k on k.conrelid = i.inhrelid
  where i.inhparent = to_regclass(cast($1 as text)) and k.conname = cast($2 as text)
    and k.contype = 'f' and k.conparentid = 0
  order by k.convalidated limit 1`
