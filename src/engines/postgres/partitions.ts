/** Partitions by ranges of time. Sources: PostgreSQL, Table Partitioning; ALTER TABLE (ATTACH, DETACH); pg_inherits. */
import { firstUuidAt, timeOfUuid } from '../../core/ordered-uuid.js'
import type { ActualPartition, PartitionColumn, PartitionSql } from '../contract/partitions.js'
import { quoteTable, schemaOf } from '../contract/quote.js'
import { frameworkQuery } from '../contract/statement.js'
import { forPartitions } from './partitioned-changes.js'
import { readTimestamp } from './timestamps.js'

/** Milliseconds of a timestamp. Only with functions whose result is known to the planner, so that it can leave partitions out. */
const millis = (timestamp: string): string =>
  `extract(epoch from (cast(${timestamp} as timestamptz) at time zone 'UTC')) * 1000`

/** The first UUID of a millisecond: 48 bits of time, then zeros. */
const firstKeyOf = (milliseconds: string): string =>
  `cast(encode(substring(int8send(greatest(${milliseconds}, 0)) from 3) || '\\x00000000000000000000', 'hex') as uuid)`

export const postgresPartitions: PartitionSql = {
  bound: ({ isUuid, storage }, time) => {
    if (isUuid) return `'${firstUuidAt(time)}'`
    const text = new Date(time).toISOString()
    return storage === 'date'
      ? `'${text.slice(0, 10)}'`
      : `'${text.slice(0, 19).replace('T', ' ')}+00'`
  },
  isTimedKey: `substring(uuid_send({k}) from 1 for 6) = substring(int8send((${millis('{t}')})::bigint) from 3)`,
  firstKey: {
    at: firstKeyOf(`floor(${millis('{v}')})::bigint`),
    notBefore: firstKeyOf(`ceil(${millis('{v}')})::bigint`),
    after: firstKeyOf(`(${millis('{v}')})::bigint + 1`),
  },
  // `create table … partition of` would wait for all statements on the table, and all later statements for it.
  attach: (table, { name, from, to }) => [
    `create table ${quoteTable(name)} (like ${quoteTable(table)} including all)`,
    `alter table ${quoteTable(table)} attach partition ${quoteTable(name)} for values from (${from}) to (${to})`,
  ],
  detach: (table, { name, isDetaching }, isOnline) =>
    `alter table ${quoteTable(table)} detach partition ${quoteTable(name)}${isDetaching ? ' finalize' : isOnline ? ' concurrently' : ''}`,
  expand: forPartitions,
  read: async (runner, table, column) => {
    const schema = schemaOf(table)
    const query = frameworkQuery(partitionsSql, { isFresh: true })
    const { rows } = await runner.run(query, [quoteTable(table)], 'all')
    if (rows.length === 0) return undefined
    const partitions = rows.filter(([name]) => name !== null)
    return partitions.map(([name, bounds, isDetaching]) => ({
      name: schema === undefined ? String(name) : `${schema}.${String(name)}`,
      ...readBounds(String(bounds), column),
      isDetaching: isDetaching === true,
    }))
  },
}

const partitionsSql = `select c.relname, pg_get_expr(c.relpartbound, c.oid),
    coalesce(cast(to_jsonb(i) ->> 'inhdetachpending' as boolean), false)
  from pg_class t left join pg_inherits i on i.inhparent = t.oid left join pg_class c on c.oid = i.inhrelid
  where t.oid = to_regclass(cast($1 as text)) and t.relkind = 'p' order by 1`

/** `FOR VALUES FROM ('2026-11-01 00:00:00+00') TO (MAXVALUE)`. A default partition has no times of its own. */
function readBounds(text: string, column: PartitionColumn): Pick<ActualPartition, 'from' | 'to'> {
  const [, from, to] = /FROM \((.*?)\) TO \((.*?)\)/.exec(text) ?? []
  if (from === undefined || to === undefined) return { from: Infinity, to: Infinity }
  return { from: readBound(from, column), to: readBound(to, column) }
}

function readBound(text: string, { isUuid, storage }: PartitionColumn): number {
  if (text === 'MINVALUE') return -Infinity
  if (text === 'MAXVALUE') return Infinity
  const value = text.slice(1, -1)
  if (isUuid) return timeOfUuid(value)
  return Date.parse(storage === 'date' ? value : String(readTimestamp(value)))
}
