/**
 * Finds tables whose rows are not on the machines that their records ask for, and moves them. The key of a sharded table
 * contains the shard, so tables leave their shards before their keys change, and are sharded after it. References of
 * moved tables are dropped before and added again, because Citus refuses them between tables that it has not moved yet.
 * Sources: Citus, Creating and Modifying Distributed Objects; decisions, Records: shards.
 */
import type {
  ActualTable,
  Catalogue,
  Distribution,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import {
  dropForeignKey,
  isOfSameField,
  referringColumn,
  toForeignKey,
  writeAddForeignKey,
} from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { DistributionSql, TableMove } from '../../engines/contract/distribution.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { Difference } from './difference-kinds.js'
import type { KeyChanges } from './key-differences.js'

export interface DistributionChanges {
  /** The statements that distribute a new table, by its name. */
  readonly ofNew: ReadonlyMap<string, string>
  /** Tables that leave their shards, before keys change. */
  readonly leaving: readonly Difference[]
  /** Tables that are distributed after keys have changed. */
  readonly entering: readonly Difference[]
  /** The tables of `entering`. */
  readonly tables: ReadonlySet<string>
}

const local: Distribution = { kind: 'local' }

/** An existing table that moves. */
interface Move {
  readonly schema: TableSchema
  readonly from: Distribution
  readonly to: Distribution
  /** What is wrong: `task is a local table and should be distributed by tenant_id.` */
  readonly message: string
  /** Where a second move goes, after the key has changed. */
  readonly then?: Distribution
  readonly isSecond?: boolean
}

/** Whether a table only moves to another group, so that its key stays. */
function keepsColumn({ from, to }: Move): boolean {
  return from.kind === 'sharded' && to.kind === 'sharded' && from.column === to.column
}

/** References that change before tables enter their shards. */
interface NewReferences extends Pick<KeyChanges, 'references'> {
  /** The names of references that no record declares any more. */
  readonly dropped: readonly string[]
}

/** A reference of a table. */
interface TableReference {
  readonly table: string
  readonly key: ForeignKeySchema
}

/**
 * @param actual the tables of the database. Those without `distribution` are on a server that distributes nothing
 */
export function findDistributionChanges(
  schemas: readonly TableSchema[],
  actual: Catalogue,
  keys: NewReferences,
  { tables: { distribution: sql } }: Dialect,
): DistributionChanges {
  if (sql === undefined)
    return { ofNew: new Map(), leaving: [], entering: [], tables: new Set<string>() }
  const leaders = findLeaders(schemas, actual)
  const moves = schemas.flatMap((schema) => findMove(schema, schemas, actual, leaders) ?? [])
  const leaving = moves
    .filter(({ from }) => from.kind === 'sharded')
    .filter((move) => !keepsColumn(move))
    .map((move) => (move.to.kind === 'sharded' ? { ...move, to: local, then: move.to } : move))
  const entering = moves
    .filter(({ from, to }) => from.kind !== 'sharded' || to.kind === 'sharded')
    .map((move) =>
      move.from.kind === 'sharded' && !keepsColumn(move)
        ? { ...move, from: local, isSecond: true }
        : move,
    )
  const write = (list: readonly Move[], references: readonly TableReference[]): Difference[] =>
    list.map((_, index) => toDifference(list, index, references, { sql, leaders }))
  const remaining = findReferences(entering, actual)
    .filter(({ key }) => !keys.dropped.includes(key.name))
    .map((one) => afterKeys(one, schemas, keys))
  return {
    ofNew: new Map(
      schemas.flatMap(({ name, distribution: to }) =>
        actual.has(name) || to === undefined
          ? []
          : [[name, sql.onlyDistributed(sql.move(toTableMove(name, local, to, leaders)))]],
      ),
    ),
    leaving: write(leaving, findReferences(leaving, actual)),
    entering: write(entering, remaining),
    tables: new Set(entering.map(({ schema }) => schema.name)),
  }
}

/** The table that the others of its group are distributed with, by the group of the schemas. */
type Leaders = ReadonlyMap<string, string>

/** One that is distributed already, otherwise the first new one, otherwise the first one that moves. */
function findLeaders(schemas: readonly TableSchema[], actual: Catalogue): Leaders {
  const leaders = new Map<string, string>()
  const isDistributed = (table: ActualTable | undefined, column: string): boolean =>
    table?.distribution?.kind === 'sharded' && table.distribution.column === column
  const isNew = (table: ActualTable | undefined): boolean => table === undefined
  for (const canLead of [isDistributed, isNew, () => true])
    for (const { name, distribution } of schemas) {
      if (distribution?.kind !== 'sharded' || leaders.has(distribution.group)) continue
      if (canLead(actual.get(name), distribution.column)) leaders.set(distribution.group, name)
    }
  return leaders
}

/** @returns `undefined` if the table is where it should be, or if the server distributes no tables */
function findMove(
  schema: TableSchema,
  schemas: readonly TableSchema[],
  actual: Catalogue,
  leaders: Leaders,
): Move | undefined {
  const { name, distribution: to = local } = schema
  const { distribution: from, isForeign } = actual.get(name) ?? {}
  if (from === undefined || isForeign === true) return undefined
  if (from.kind === 'sharded' && to.kind === 'sharded' && from.column === to.column) {
    const leader = leaders.get(to.group) ?? name
    const other = actual.get(leader)?.distribution
    if (other?.kind !== 'sharded' || other.group === from.group) return undefined
    const message = `${name} is in another colocation group than ${leader}, so that its rows may be on other machines.`
    return { schema, from, to, message }
  }
  // A reference table that is no longer needed does no harm.
  const isFine = from.kind === to.kind || (from.kind === 'reference' && to.kind === 'local')
  if (isFine && from.kind !== 'sharded') return undefined
  const message = `${name} ${describe(from)} and should be ${describe(to).replace(/^is /, '')}${reasonOf(schema, schemas)}.`
  return { schema, from, to, message }
}

function describe(distribution: Distribution): string {
  if (distribution.kind !== 'sharded') return `is a ${distribution.kind} table`
  return distribution.column === ''
    ? 'is distributed without a column'
    : `is distributed by ${distribution.column}`
}

/** ` (Task.tenantId)`, `, because task.region_id refers to it (on delete restrict)` */
function reasonOf(
  { name, distribution, columns }: TableSchema,
  schemas: readonly TableSchema[],
): string {
  if (distribution?.kind === 'sharded') {
    const column = columns.find((one) => one.name === distribution.column)
    return column === undefined ? '' : ` (${column.origin})`
  }
  if (distribution?.kind !== 'reference') return ''
  for (const holder of schemas) {
    const key = holder.foreignKeys.find(({ table }) => table === name)
    if (key === undefined || holder.distribution === undefined) continue
    return `, because ${holder.name}.${referringColumn(key)} refers to it (on delete ${key.onDelete})`
  }
  return ''
}

/** All references from and to tables that move, as the database has them. */
function findReferences(moves: readonly Move[], actual: Catalogue): TableReference[] {
  const moved = new Set(moves.map(({ schema }) => schema.name))
  return [...actual.values()].flatMap(({ name, foreignKeys }) =>
    foreignKeys
      .filter(({ table }) => moved.has(name) || moved.has(table))
      .map((key) => ({ table: name, key: toForeignKey(name, key) })),
  )
}

/** The reference after keys have changed. */
function afterKeys(
  reference: TableReference,
  schemas: readonly TableSchema[],
  keys: NewReferences,
): TableReference {
  const { table, key } = reference
  if (!keys.references.has(`${table}.${referringColumn(key)}`)) return reference
  const declared = schemas
    .find(({ name }) => name === table)
    ?.foreignKeys.find((one) => isOfSameField(one, key) && one.table === key.table)
  return declared === undefined ? reference : { table, key: declared }
}

interface MoveWriting {
  readonly sql: DistributionSql
  readonly leaders: Leaders
}

function toTableMove(
  table: string,
  from: Distribution,
  to: Distribution,
  leaders: Leaders,
): TableMove {
  const leader = to.kind === 'sharded' ? leaders.get(to.group) : undefined
  return { table, from, to, besides: leader === table ? undefined : leader, isOnline: false }
}

/** The references are dropped with the first table that moves, and added again with the last one. */
function toDifference(
  moves: readonly Move[],
  index: number,
  references: readonly TableReference[],
  { sql, leaders }: MoveWriting,
): Difference {
  const { schema, from, to, then = to, message, isSecond } = moves[index] as Move
  const { name } = schema
  const [isFirst, isLast] = [index === 0, index === moves.length - 1]
  const counter = schema.columns.find(({ increment }) => increment)?.name
  const move = { ...toTableMove(name, from, to, leaders), counter }
  const back = { ...toTableMove(name, to, from, findOldLeaders(moves)), counter }
  const drop = references.map(({ table, key }) => dropForeignKey(table, key.name))
  const dropped = drop.length === 0 ? [] : [sql.onlyDistributed(drop)]
  const moveBy = (one: TableMove): string[] => [sql.onlyDistributed(sql.move(one))]
  // A table that every machine has does no harm, and one with a counting key cannot become local again.
  const stays = from.kind === 'local' && to.kind === 'reference'
  // Existing rows are checked in a second step, which does not block reads and writes.
  const add = references.flatMap(({ table, key }) => [
    sql.onlyDistributed([`${writeAddForeignKey(table, key)} not valid`]),
    sql.onlyDistributed([
      `alter table ${quoteTable(table)} validate constraint ${quote(key.name)}`,
    ]),
  ])
  return {
    kind: 'other distribution',
    table: name,
    message,
    // Statements still find their rows, but ask more machines.
    blocks: false,
    upgrades: true,
    risk: 'safe',
    ...(isSecond === true
      ? { isSecond }
      : { command: sql.command(toTableMove(name, from, then, leaders)) }),
    sql: [...(isFirst ? dropped : []), ...moveBy(move), ...(isLast ? add : [])],
    online: [
      ...(isFirst ? dropped : []),
      ...sql.move({ ...move, isOnline: true }).map((one) => sql.onlyDistributed([one])),
      ...(isLast ? add : []),
    ],
    undo: [...(isLast ? dropped : []), ...(stays ? [] : moveBy(back)), ...(isFirst ? add : [])],
  }
}

/** Moves are undone in reverse order, so the last table of each old group is distributed first. */
function findOldLeaders(moves: readonly Move[]): Leaders {
  return new Map(
    moves.flatMap(({ schema, from }) =>
      from.kind === 'sharded' ? [[from.group, schema.name]] : [],
    ),
  )
}
