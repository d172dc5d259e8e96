/** Makes records of the tables of a database. */
import type { CatalogueTable } from '../../engines/contract/described-table.js'
import { reservedPrefixes } from '../../engines/contract/table.js'
import { isSqlName, toSnakeCase } from '../../records/model/generated-names.js'
import { addRelations, findUsableKeys, withKeyName, type NamedTable } from './foreign-keys.js'
import { readChecks } from './check-rules.js'
import { readIndexes } from './index-rules.js'
import { toField } from './make-fields.js'
import {
  ClassNames,
  MemberNames,
  toClassName,
  toFileName,
  toPascal,
  toPropertyName,
  toWords,
} from './names.js'
import {
  tableName,
  toCode,
  type ClassFile,
  type Remark,
  type PulledField,
  type PulledRecord,
  type PulledRelation,
  type Setting,
} from './pulled-record.js'
import {
  findKey,
  isColumnName,
  isGeneratedKey,
  type TableKeys,
  type UsableKey,
} from './table-keys.js'

export interface PulledDatabase {
  readonly records: readonly PulledRecord[]
  /** Tables without a record. */
  readonly leftOut: readonly Remark[]
}

/**
 * @param tables in the order in which names are given
 * @param knownNames the classes of earlier runs, by the names of their tables
 */
export function makeRecords(
  tables: readonly CatalogueTable[],
  knownNames: ReadonlyMap<string, ClassFile> = new Map(),
): PulledDatabase {
  const leftOut: Remark[] = []
  const usable = tables.filter((table) => {
    const message = whyLeftOut(table)
    if (message !== undefined) leftOut.push({ where: tableName(table), message, isLeftOut: true })
    return message === undefined
  })
  const byName = new Map(usable.map((table) => [tableName(table), table]))
  const keys = new Map(usable.map((table) => [table, findKey(table)]))
  const keyOf = (table: CatalogueTable): readonly string[] => keys.get(table) ?? []
  const foreignKeys = new Map(usable.map((table) => [table, findUsableKeys(table, byName, keyOf)]))
  const usableKeysOf = (table: CatalogueTable): readonly UsableKey[] =>
    foreignKeys.get(table)?.keys ?? []
  const classNames = nameClasses(usable, knownNames)
  const named = new Map(
    usable.map((table) => [
      table,
      nameTable(table, {
        ...(classNames.get(table) as ClassFile),
        key: keyOf(table),
        foreignKeys: usableKeysOf(table),
      }),
    ]),
  )
  const namedOf = (table: CatalogueTable): NamedTable => named.get(table) as NamedTable
  for (const one of named.values()) {
    one.remarks.push(...(foreignKeys.get(one.table)?.remarks ?? []))
    addRelations(one, usableKeysOf(one.table), namedOf, { usableKeysOf })
  }
  const indexNames = new Set(usable.map((table) => tableName(table).toLowerCase()))
  return {
    records: [...named.values()].map((one) => toRecord(one, { usableKeysOf, keyOf }, indexNames)),
    leftOut,
  }
}

function whyLeftOut({ name, kind, columns }: CatalogueTable): string | undefined {
  if (!isSqlName(name)) return 'has a name that no record can have'
  const prefix = reservedPrefixes.find((one) => name.toLowerCase().startsWith(one))
  if (prefix !== undefined) return `has a name that begins with ${prefix}`
  if (kind === 'virtual table') return 'is a virtual table'
  return columns.some(({ name: column }) => isColumnName(column))
    ? undefined
    : 'has no column that a field can have'
}

function nameClasses(
  tables: readonly CatalogueTable[],
  knownNames: ReadonlyMap<string, ClassFile>,
): ReadonlyMap<CatalogueTable, ClassFile> {
  const names = new ClassNames()
  const classes = new Map<CatalogueTable, ClassFile>()
  const isKnown = (table: CatalogueTable): boolean => knownNames.has(tableName(table))
  const counts = new Map<string, number>()
  for (const { name } of tables)
    counts.set(toClassName(name), (counts.get(toClassName(name)) ?? 0) + 1)
  // A short name comes first: GraphQL has a type ProductGroup for the groups of Product.
  const lengthOf = ({ name }: CatalogueTable): number => toClassName(name).length
  const byLength = [...tables].sort(
    (a, b) =>
      Number(a.schema !== undefined) - Number(b.schema !== undefined) || lengthOf(a) - lengthOf(b),
  )
  const ordered = [...byLength.filter(isKnown), ...byLength.filter((table) => !isKnown(table))]
  for (const table of ordered) {
    const { schema, name } = table
    const known = knownNames.get(tableName(table))
    const usual = toClassName(name)
    const isInSchemas = schema !== undefined && (counts.get(usual) ?? 0) > 1
    const inSchema = isInSchemas ? [`${toPascal(toWords(schema))}${usual}`] : []
    const candidates = [usual, ...inSchema, `${usual}Row`]
    const className = names.take(
      known === undefined ? candidates : [known.className, ...candidates],
    )
    const isSame = className === known?.className
    classes.set(table, { className, fileName: isSame ? known.fileName : toFileName(className) })
  }
  return classes
}

interface NamingContext extends ClassFile {
  readonly key: readonly string[]
  readonly foreignKeys: readonly UsableKey[]
}

function nameTable(
  table: CatalogueTable,
  { className, fileName, key, foreignKeys }: NamingContext,
): NamedTable {
  const members = new MemberNames()
  const properties = new Map<string, string>()
  const remarks: Remark[] = []
  if (!table.isPopulated) {
    const message = `cannot be read before refresh materialized view ${table.name}`
    remarks.push({ where: tableName(table), message, isLeftOut: false })
  }
  const own = new Set(table.columns.map(({ name }) => toPropertyName(name)))
  for (const { name } of table.columns) {
    if (!isColumnName(name)) {
      const message = 'has a name that no field can have, and is left out'
      remarks.push({ where: `${tableName(table)}.${name}`, message, isLeftOut: true })
      continue
    }
    const usual = toPropertyName(name)
    const foreignKey = foreignKeys.find(
      ({ columns }) => columns.length === 1 && columns[0] === name,
    )
    // `area integer references area` is `areaId`, so that the relation can be called `area`.
    const detailed = foreignKey && withKeyName(usual, foreignKey.foreignColumns[0] ?? 'id')
    const isBare = detailed !== undefined && !key.includes(name) && !own.has(detailed)
    properties.set(
      name,
      members.take(isBare ? [detailed, usual] : [usual, `${usual}Value`, `${usual}Column`]),
    )
  }
  return { table, className, fileName, key, properties, members, relations: [], remarks }
}

function toRecord(named: NamedTable, keys: TableKeys, indexNames: Set<string>): PulledRecord {
  const { table, className, fileName, key, properties, relations, remarks } = named
  const rules = readIndexes(named, keys, indexNames)
  const conditions = readChecks(table)
  const fields = table.columns.flatMap((column): PulledField[] => {
    const property = properties.get(column.name)
    if (property === undefined) return []
    const source = {
      column,
      property,
      rules: rules.byColumn.get(column.name) ?? [],
      conditions: conditions.get(column.name) ?? [],
    }
    return [toField(named, source, keys)]
  })
  const settings: Setting[] = []
  if (toSnakeCase(className) !== table.name) settings.push(['table', toCode(table.name)])
  if (table.schema !== undefined) settings.push(['schema', toCode(table.schema)])
  if (key.length === 0) settings.push(['key', 'false'])
  else if (!isGeneratedKey(table, key, keys))
    settings.push(['key', key.map((column) => toCode(properties.get(column)))])
  settings.push(['managed', 'false'])
  if (rules.indexes.length > 0) settings.push(['indexes', rules.indexes])
  return {
    table,
    className,
    fileName,
    settings,
    fields,
    relations: [...relations].sort(byKind),
    remarks,
  }
}

/** What a row refers to comes before its lists. */
function byKind(one: PulledRelation, other: PulledRelation): number {
  return Number(one.kind === 'HasMany') - Number(other.kind === 'HasMany')
}
