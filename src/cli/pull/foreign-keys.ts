/** Finds the references between pulled tables that relations can use, and names the relations. */
import type { CatalogueForeignKey, CatalogueTable } from '../../engines/contract/described-table.js'
import { lowerFirst, toListName, toWords, upperFirst, type MemberNames } from './names.js'
import {
  tableName,
  toCode,
  type ClassFile,
  type Remark,
  type PulledRelation,
  type Setting,
} from './pulled-record.js'
import { isGeneratedKey, type TableKeys, type UsableKey } from './table-keys.js'

/** A table with the names of its class. Relations are added when all tables have their fields. */
export interface NamedTable extends ClassFile {
  readonly table: CatalogueTable
  /** Columns of the key, `[]` for a table without one. */
  readonly key: readonly string[]
  /** Properties by column, without the columns that are left out. */
  readonly properties: ReadonlyMap<string, string>
  readonly members: MemberNames
  readonly relations: PulledRelation[]
  readonly remarks: Remark[]
}

/** @param tables the pulled tables, by their names with their schemas @param keyOf the key of a pulled table */
export function findUsableKeys(
  table: CatalogueTable,
  tables: ReadonlyMap<string, CatalogueTable>,
  keyOf: (table: CatalogueTable) => readonly string[],
): { readonly keys: readonly UsableKey[]; readonly remarks: readonly Remark[] } {
  const keys: UsableKey[] = []
  const remarks: Remark[] = []
  for (const foreignKey of table.foreignKeys) {
    const found = findUsableKey(foreignKey, tables, keyOf)
    const isTwice = (one: UsableKey): boolean =>
      typeof found !== 'string' && one.target === found.target && isSame(one.columns, found.columns)
    if (typeof found === 'string')
      remarks.push({
        where: `${tableName(table)}.${foreignKey.columns.join(', ')}`,
        message: found,
        isLeftOut: true,
      })
    else if (!keys.some(isTwice)) keys.push(found)
  }
  return { keys, remarks }
}

function findUsableKey(
  foreignKey: CatalogueForeignKey,
  tables: ReadonlyMap<string, CatalogueTable>,
  keyOf: (table: CatalogueTable) => readonly string[],
): UsableKey | string {
  const { columns, schema, table: name, foreignColumns, onDelete } = foreignKey
  const target = tables.get(tableName({ schema, name }))
  const where = tableName({ schema, name })
  if (target === undefined) return `refers to ${where}, which is not pulled, so it has no relation`
  const key = keyOf(target)
  const referred = foreignColumns ?? target.primaryKey
  const isKey = key.length > 0 && key.length === referred.length && isSameSet(key, referred)
  if (!isKey)
    return `refers to ${where} by ${referred.join(', ')}, which is not its key, so it has no relation`
  const ordered = key.map((column) => columns[indexOf(referred, column)] ?? '')
  return { target, columns: ordered, foreignColumns: key, onDelete }
}

function indexOf(names: readonly string[], name: string): number {
  return names.findIndex((one) => one.toLowerCase() === name.toLowerCase())
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.every((name) => indexOf(other, name) >= 0)
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index])
}

/**
 * The property of a foreign key without the name of the key that it holds: `customerId` → `customer`, `currencyCode` →
 * `currency` where the other key is `code`. `undefined` if nothing remains, or if it has no such ending.
 */
export function toRelationStem(property: string, foreignColumn: string): string | undefined {
  const endings = ['Id', 'ID', upperFirst(lastWord(foreignColumn))]
  const ending = endings.find((one) => property.length > one.length && property.endsWith(one))
  return ending === undefined ? undefined : property.slice(0, -ending.length)
}

/**
 * The name of a foreign key that has no such ending: `area` → `areaId`. `undefined` if it has one.
 *
 * @param foreignColumn the key that it holds
 */
export function withKeyName(property: string, foreignColumn: string): string | undefined {
  if (toRelationStem(property, foreignColumn) !== undefined) return undefined
  return `${property}${upperFirst(lastWord(foreignColumn))}`
}

function lastWord(column: string): string {
  return toWords(column).at(-1) ?? 'id'
}

/** Adds `@BelongsTo` to a table and `@HasMany` to the other one. */
export function addRelations(
  holder: NamedTable,
  keys: readonly UsableKey[],
  named: (table: CatalogueTable) => NamedTable,
  tableKeys: Pick<TableKeys, 'usableKeysOf'>,
): void {
  for (const { target: other, columns, onDelete } of keys) {
    const target = named(other)
    const isGiven = !isGeneratedKey(other, target.key, tableKeys)
    const properties = columns.map((column) => holder.properties.get(column))
    if (!properties.every((one) => one !== undefined)) continue
    const name = nameBelongsTo(holder, target, properties)
    const by = isGiven ? toCode(properties) : toCode(properties[0])
    const settings: Setting[] = []
    if (by !== toCode(`${name}Id`)) settings.push(['by', by])
    if (onDelete === 'cascade') settings.push(['onDelete', toCode('cascade')])
    const isNullable = canBeNull(holder, columns)
    if (onDelete === 'set null' && isNullable) settings.push(['onDelete', toCode('setNull')])
    holder.relations.push({ name, kind: 'BelongsTo', ...classOf(target), isNullable, settings })
    // A list needs a key by which its rows are told apart.
    if (holder.key.length === 0) continue
    const isOnly = keys.filter((one) => one.target === other).length === 1
    target.relations.push({
      name: nameHasMany(holder, target, name, isOnly),
      kind: 'HasMany',
      ...classOf(holder),
      isNullable: false,
      settings: isOnly ? [] : [['by', by]],
    })
  }
}

function classOf({ className, fileName }: NamedTable): Pick<PulledRelation, 'target' | 'file'> {
  return { target: className, file: fileName }
}

/** A foreign key is null if one of its columns is. */
function canBeNull({ table, key }: NamedTable, columns: readonly string[]): boolean {
  return table.columns.some(
    ({ name, nullable }) => nullable && columns.includes(name) && !key.includes(name),
  )
}

function nameBelongsTo(
  { members }: NamedTable,
  { className, key }: NamedTable,
  properties: readonly string[],
): string {
  const targetName = lowerFirst(className)
  const [property = ''] = properties
  const stem = properties.length === 1 ? toRelationStem(property, key[0] ?? 'id') : undefined
  const unnamed = properties.length === 1 ? `${property}${className}` : `${targetName}Row`
  return members.take([stem ?? targetName, `${stem ?? ''}${className}`, unnamed].map(lowerFirst))
}

/** @param relation the name of the relation of the other side @param isOnly the holder has no other one to this table */
function nameHasMany(
  holder: NamedTable,
  target: NamedTable,
  relation: string,
  isOnly: boolean,
): string {
  const list = toListName(holder.className)
  const detailed = `${list}By${upperFirst(relation)}`
  const isSelf = holder === target
  const isPlain = relation === lowerFirst(target.className) || (isOnly && !isSelf)
  if (isSelf && relation === 'parent') return target.members.take(['children', detailed])
  return target.members.take(isPlain ? [list, detailed] : [detailed])
}
