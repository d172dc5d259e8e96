/**
 * Reports indexes of one name. A database has each name once among its tables and indexes, so the second index would never be
 * made: `a_b` with the column `c` and `a` with the column `b_c` give the same name.
 */
import type { Problem } from '../../errors/declaration-error.js'
import type { Column, TableIndex } from '../../engines/contract/table.js'
import { toForeignIndex } from './read-indexes.js'
import { toIndexName } from './column-names.js'
import type { Table } from './table.js'

/** Of a table or index, in words for a message: `the index of Product.name`. */
type Owner = string

export function checkIndexNames(tables: ReadonlySet<Table>, problems: Problem[]): void {
  // SQLite does not distinguish case.
  const owners = new Map<string, Owner>()
  const add = (name: string, owner: Owner): void => {
    const other = owners.get(name.toLowerCase())
    if (other === undefined) owners.set(name.toLowerCase(), owner)
    else problems.push(sameName(name, owner, other))
  }
  const joins = new Map<string, string>()
  for (const { name, type, relations } of tables) {
    owners.set(name.toLowerCase(), `the table of ${type.name}`)
    for (const { join, name: relation } of relations.values()) {
      if (join === undefined || joins.has(join.name)) continue
      const index = toIndexName(join.name, [join.to], false)
      joins.set(join.name, index)
      owners.set(join.name.toLowerCase(), `the join table of ${type.name}.${relation}`)
    }
  }
  const listed = listedColumns(tables)
  for (const table of tables)
    for (const { name, columns } of [...table.indexes, ...findMissingIndexes(table, listed)])
      add(name, `the index of ${table.type.name} over ${columns.map(toProperty).join(', ')}`)
  for (const [name, index] of joins) add(index, `the index of the join table ${name}`)
}

const toProperty = ({ property }: Column): string => property

function sameName(name: string, owner: Owner, other: Owner): Problem {
  return {
    code: 'RECORD_INDEX',
    message: `${upperFirst(owner)} and ${other} would both be called "${name}" in the database.`,
    remedy: "Name another column, { column: '…' }, or another table, @Record({ table: '…' }).",
  }
}

function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** The columns by which `@HasMany` lists rows. */
export function listedColumns(tables: Iterable<Table>): ReadonlySet<Column> {
  const listed = new Set<Column>()
  for (const { relations } of tables)
    for (const { kind, foreign } of relations.values()) if (kind === 'hasMany') listed.add(foreign)
  return listed
}

/** Indexes for lists of records whose other side has no `@BelongsTo`: there the keys are plain fields. */
export function findMissingIndexes(
  { name, key, columns, indexes }: Table,
  listed: ReadonlySet<Column>,
): TableIndex[] {
  return columns
    .filter((column) => listed.has(column) && column.field.rules.index !== false)
    .filter((column) => !indexes.some((index) => index.columns[0] === column))
    .map((column) => toForeignIndex(name, column, key))
}
