/**
 * UUIDs were text before they were a type to the database: their columns are changed together with the references
 * between them, which are dropped before and made again after. Source: PostgreSQL, ALTER TABLE; UUID Type.
 */
import type {
  ActualTable,
  Catalogue,
  ColumnSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import {
  quote,
  writeAddCheck,
  writeAddForeignKey,
  writeDropIndex,
  writeIndex,
} from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { isCheckOf } from '../model/column-names.js'
import { wasUuid } from './column-types.js'
import type { Difference } from './difference-kinds.js'

interface Upgrade {
  readonly schema: TableSchema
  readonly column: ColumnSchema
  readonly table: ActualTable
}

/** @param present the tables that the database has */
export function findUuidUpgrades(
  present: readonly TableSchema[],
  actual: Catalogue,
  { changes }: Dialect,
): Difference[] {
  if (changes.kind === 'anew') return []
  const upgrades = present.flatMap((schema) => {
    const table = actual.get(schema.name) as ActualTable
    if (table.isForeign === true) return []
    return schema.columns
      .filter((column) => wasUuid(column, table.columns.get(column.name)))
      .map((column) => ({ schema, column, table }))
  })
  if (upgrades.length === 0) return []
  const references = findReferences(upgrades, present, actual)
  const why =
    references === undefined ? ', as should a table without a record that refers to one' : ''
  return upgrades.map((upgrade, index) => {
    const { schema, column, table } = upgrade
    const currentType = table.columns.get(column.name)?.type ?? 'text'
    const { before, after, undone } = partsOf(upgrade)
    const alter = `alter table ${quote(schema.name)} alter column ${quote(column.name)} type`
    const earlier = currentType === 'text' ? 'text collate "C"' : currentType
    const isFirst = index === 0
    const isLast = index === upgrades.length - 1
    const { drop, add } = references ?? { drop: [], add: [] }
    const together = (first: boolean, sql: readonly string[], last: boolean): string[] => [
      ...(first ? drop : []),
      ...sql,
      ...(last ? add : []),
    ]
    const change = changes.changeType(schema.name, column.name, 'uuid', 'uuid')
    const back = `${alter} ${earlier} using ${quote(column.name)}::text`
    return {
      kind: 'other type',
      table: schema.name,
      column,
      message: `${schema.name}.${column.name} is of type ${currentType} and should be uuid (${column.origin})${why}.`,
      // Placeholders have the columns' own types.
      blocks: false,
      ...(references === undefined
        ? { remedy: 'by hand' }
        : { upgrades: true, remedy: 'may fail' }),
      sql: together(isFirst, [...before, change, ...after], isLast),
      // The last is undone first.
      undo: together(isLast, [...before, back, ...undone], isFirst),
    }
  })
}

/** @returns `undefined` where a table of another program refers to one of them: it would have to be changed too */
function findReferences(
  upgrades: readonly Upgrade[],
  present: readonly TableSchema[],
  actual: Catalogue,
): { readonly drop: readonly string[]; readonly add: readonly string[] } | undefined {
  const changed = new Set(upgrades.map(({ schema, column }) => `${schema.name}.${column.name}`))
  const keys = new Set(
    upgrades
      .filter(({ schema, column }) => schema.primaryKey.includes(column.name))
      .map(({ schema }) => schema.name),
  )
  const drop: string[] = []
  const add: string[] = []
  for (const table of actual.values()) {
    const schema = present.find(({ name }) => name === table.name)
    for (const { column, table: target, name } of table.foreignKeys) {
      if (!keys.has(target) && !changed.has(`${table.name}.${column}`)) continue
      const declared = schema?.foreignKeys.find(
        (one) => one.column === column && one.table === target,
      )
      if (declared === undefined) return undefined
      const same = { ...declared, name: name ?? declared.name }
      drop.push(`alter table ${quote(table.name)} drop constraint if exists ${quote(same.name)}`)
      add.push(writeAddForeignKey(table.name, same))
    }
  }
  return { drop, add }
}

/**
 * What is made of the column's text: its default, checks, and indexes of expressions or of some rows.
 *
 * @returns the statements before a change of the type, behind it, and behind its undoing
 */
function partsOf({ schema, column, table }: Upgrade) {
  const before: string[] = []
  const after: string[] = []
  const undone: string[] = []
  const alter = `alter table ${quote(schema.name)}`
  if (table.columns.get(column.name)?.preset !== undefined && column.preset !== undefined) {
    const preset = `${alter} alter column ${quote(column.name)} set default ${column.preset}`
    before.push(`${alter} alter column ${quote(column.name)} drop default`)
    after.push(preset)
    undone.push(preset)
  }
  for (const [name, sql] of table.checks ?? []) {
    if (!isCheckOf(name, schema.name, column.name)) continue
    before.push(`${alter} drop constraint if exists ${quote(name)}`)
    if (name === column.check?.name) after.push(writeAddCheck(schema.name, column.check))
    undone.push(writeAddCheck(schema.name, { name, sql }))
  }
  for (const index of schema.indexes) {
    const parts = [...(index.parts ?? []), index.where ?? '']
    const isOver = parts.some((part) => part.includes(quote(column.name)))
    if (!isOver || !table.indexes.has(index.name)) continue
    before.push(...writeDropIndex(index))
    after.push(...writeIndex(schema.name, index))
    undone.push(...(table.indexes.get(index.name)?.create ?? []))
  }
  return { before, after, undone }
}
