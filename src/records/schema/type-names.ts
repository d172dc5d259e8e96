/**
 * The types that fields name: reports those that the database lacks, and writes the enums that migrations make. Source:
 * PostgreSQL, CREATE TYPE; ALTER TYPE.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type {
  Catalogue,
  ColumnSchema,
  DatabaseTypes,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Difference } from './difference-kinds.js'

/** The values of the database's enums, by the type's name in the catalogue. */
export type EnumLabels = ReadonlyMap<string, readonly string[]>

/** @returns the types that the fields of these tables name */
export function namedTypes(schemas: readonly TableSchema[]): string[] {
  return [...new Set(declaredColumns(schemas).map(({ declared }) => declared.item))]
}

interface DeclaredColumn extends ColumnSchema {
  readonly declared: NonNullable<ColumnSchema['declared']>
  readonly table: TableSchema
}

function declaredColumns(schemas: readonly TableSchema[]): DeclaredColumn[] {
  return schemas.flatMap((table) =>
    table.columns.flatMap((column) =>
      column.declared === undefined ? [] : [{ ...column, declared: column.declared, table }],
    ),
  )
}

/** @returns types that no migration makes and the database lacks, and values that the enum of another program lacks */
export function findMissingTypes(
  schemas: readonly TableSchema[],
  types: DatabaseTypes,
  dialect: Dialect,
): Difference[] {
  const reported = new Set<string>()
  return declaredColumns(schemas).flatMap((column): Difference[] => {
    const { declared, origin, table } = column
    const type = types.found.get(declared.item)
    if (type === undefined) {
      if (isMade(column, dialect) || reported.has(declared.item)) return []
      reported.add(declared.item)
      const suggestion = didYouMean(declared.item, types.names)
      const remedy = `${suggestion} Create it before the start: create type, create domain or create extension.`
      return [byHand(table, `Type ${declared.item} does not exist (${origin}).`, remedy.trim())]
    }
    if (table.isManaged !== false || type.labels === undefined) return []
    const missing = lackingLabels(declared.labels, type.labels)
    if (missing.length === 0) return []
    const values = missing.map((value) => `"${value}"`).join(', ')
    const remedy = `Its values are: ${type.labels.join(', ')}. Add it to the type, or remove it from oneOf.`
    return [byHand(table, `Type ${declared.item} has no value ${values} (${origin}).`, remedy)]
  })
}

function byHand({ name }: TableSchema, message: string, first: string): Difference {
  return {
    kind: 'missing type',
    table: name,
    message,
    blocks: true,
    risk: 'by hand',
    isManaged: false,
    first,
    sql: [],
  }
}

function lackingLabels(wanted: readonly string[] = [], labels: readonly string[] = []): string[] {
  return wanted.filter((value) => !labels.includes(value))
}

/** Whether migrations make the type: it is the enum of a managed table. */
function isMade({ declared, table }: DeclaredColumn, dialect: Dialect): boolean {
  return (
    table.isManaged !== false &&
    declared.labels !== undefined &&
    dialect.types.declared?.isBuiltIn(declared.item) === false
  )
}

/** @returns the enums of the types that were found */
export function enumsOf({ found }: DatabaseTypes, { types }: Dialect): EnumLabels {
  return new Map(
    [...found].map(([name, { labels = [] }]) => [types.declared?.nameOf(name) ?? name, labels]),
  )
}

/** @returns the enums of the columns of a schema */
function enumsIn(catalogue: Catalogue): EnumLabels {
  const enums = new Map<string, readonly string[]>()
  for (const { columns } of catalogue.values())
    for (const { type, labels } of columns.values())
      if (labels !== undefined) enums.set(type.replace(/\[\]$/, ''), labels)
  return enums
}

/**
 * Finds the enums of managed tables that do not exist, or that lack values.
 *
 * @param enums the enums of the database; default: those of its columns
 */
export function findEnumChanges(
  schemas: readonly TableSchema[],
  before: Catalogue,
  dialect: Dialect,
  enums: EnumLabels = enumsIn(before),
): Difference[] {
  const wanted = new Map<string, { columns: DeclaredColumn[]; labels: Set<string> }>()
  for (const column of declaredColumns(schemas)) {
    if (!isMade(column, dialect)) continue
    const name = dialect.types.declared?.nameOf(column.declared.item) ?? column.declared.item
    const one = wanted.get(name) ?? { columns: [], labels: new Set<string>() }
    one.columns.push(column)
    for (const label of column.declared.labels ?? []) one.labels.add(label)
    wanted.set(name, one)
  }
  return [...wanted].flatMap(([name, { columns, labels }]) => {
    const existing = enums.get(name)
    if (existing === undefined) return [missingEnum(columns, [...labels])]
    // A type that is no enum, such as a domain, has no values of its own.
    if (existing.length === 0) return []
    return lackingLabels([...labels], existing).map((label) => missingLabel(columns, label))
  })
}

function missingEnum(columns: readonly DeclaredColumn[], labels: readonly string[]): Difference {
  const { item, table } = typeOf(columns)
  const list = labels.map(quoteText).join(', ')
  return {
    kind: 'missing type',
    table,
    message: `Type ${item} is missing (${originsOf(columns)}).`,
    blocks: true,
    risk: 'safe',
    sql: [`create type ${item} as enum (${list})`],
    undo: [`drop type if exists ${item}`],
  }
}

/** A value cannot be removed from an enum again. It does no harm. */
function missingLabel(columns: readonly DeclaredColumn[], label: string): Difference {
  const { item, table } = typeOf(columns)
  return {
    kind: 'missing value',
    table,
    message: `Type ${item} has no value "${label}" (${originsOf(columns)}).`,
    blocks: true,
    risk: 'safe',
    sql: [`alter type ${item} add value if not exists ${quoteText(label)}`],
    undo: [],
  }
}

function typeOf([column]: readonly DeclaredColumn[]): { item: string; table: string } {
  return { item: column?.declared.item ?? '', table: column?.table.name ?? '' }
}

function originsOf(columns: readonly DeclaredColumn[]): string {
  return columns.map(({ origin }) => origin).join(', ')
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
