/** Describes the tables of records for the development page: relations, constraints and indexes. */
import type { IndexSchema, TableSchema } from '../../engines/contract/table-schema.js'
import type { Database } from '../../records/database.js'
import type { Relation, Table } from '../../records/model/table.js'
import { toSchema } from '../../records/schema/schema.js'

/** One line each. */
export interface DescribedTable {
  readonly relations: readonly DescribedRelation[]
  readonly constraints: readonly DescribedRule[]
  readonly indexes: readonly DescribedRule[]
}

interface DescribedRelation {
  readonly name: string
  /** `belongs to Shelf`, `has many Book`, `many to many Tag`. */
  readonly kind: string
  /** `shelf_id = shelf.id, on delete restrict`. */
  readonly keys: string
}

interface DescribedRule {
  /** The name in the database. */
  readonly name: string
  readonly rule: string
}

/** @returns the tables of the application's records by name */
export function describeTables(database: Database, now: number): Map<string, DescribedTable> {
  const tables = [...database.tables]
  const schemas = toSchema(tables, database.context.dialect, now)
  const byName = new Map(schemas.map((schema) => [schema.name, schema]))
  return new Map(
    tables.map((table) => {
      const schema = byName.get(table.name)
      return [
        table.name,
        {
          relations: [...table.relations.values()].map(describeRelation),
          constraints: schema === undefined ? [] : [...describeConstraints(table, schema)],
          indexes: schema === undefined ? [] : schema.indexes.map(describeIndex),
        },
      ]
    }),
  )
}

const kinds = { belongsTo: 'belongs to', hasMany: 'has many', manyToMany: 'many to many' }

function describeRelation({
  name,
  kind,
  target,
  local,
  foreign,
  join,
  onDelete,
}: Relation): DescribedRelation {
  const keys =
    join === undefined
      ? `${local.name} = ${target.name}.${foreign.name}`
      : `${join.name} (${join.from}, ${join.to})`
  const rule = onDelete === 'setNull' ? 'set null' : onDelete
  return {
    name,
    kind: `${kinds[kind]} ${target.type.name}`,
    keys: kind === 'belongsTo' ? `${keys}, on delete ${rule}` : keys,
  }
}

function* describeConstraints(table: Table, schema: TableSchema): Generator<DescribedRule> {
  yield { name: 'primary key', rule: schema.primaryKey.join(', ') }
  for (const { name, column, table: target, foreignColumn, onDelete } of schema.foreignKeys) {
    const rule = `foreign key ${column} references ${target} (${foreignColumn}) on delete ${onDelete}`
    yield { name, rule }
  }
  for (const { check } of schema.columns)
    if (check !== undefined) yield { name: check.name, rule: `check ${check.sql}` }
  for (const [name, { status, message }] of table.constraints)
    yield {
      name,
      rule: `of the application${status === undefined ? '' : `, ${status}`}: ${message ?? ''}`,
    }
}

function describeIndex({
  name,
  columns,
  unique,
  whereNull,
  parts,
  where,
  using,
}: IndexSchema): DescribedRule {
  const condition = where ?? (whereNull === undefined ? undefined : `${whereNull} is null`)
  const rule = [
    unique ? 'unique' : '',
    using ?? '',
    (parts ?? columns).join(', '),
    condition === undefined ? '' : `where ${condition}`,
  ]
  return { name, rule: rule.filter((part) => part !== '').join(' ') }
}
