/** Makes fields of the columns of a table. */
import type { CatalogueColumn, CatalogueTable } from '../../engines/contract/described-table.js'
import type { KindName } from '../../fields/kinds/table.js'
import { toColumnName } from '../../records/model/generated-names.js'
import { acceptsDefault, toRules, type CheckRules, type Condition } from './check-rules.js'
import { readDefault } from './default-values.js'
import type { NamedTable } from './foreign-keys.js'
import { tableName, toCode, type PulledField, type Setting } from './pulled-record.js'
import { isGeneratedKey, isInteger, type TableKeys } from './table-keys.js'

interface FieldSource {
  readonly column: CatalogueColumn
  readonly property: string
  /** Of its indexes. */
  readonly rules: readonly Setting[]
  /** Of the checks of its table and of its domains. */
  readonly conditions: readonly Condition[]
}

export function toField(named: NamedTable, source: FieldSource, keys: TableKeys): PulledField {
  const { table, key, remarks } = named
  const { column, property, rules, conditions } = source
  const columnSetting: Setting[] =
    toColumnName(property) === column.name ? [] : [['column', toCode(column.name)]]
  if (key.includes(column.name) && isGeneratedKey(table, key, keys)) {
    const isUuid = column.form.kind === 'uuid'
    const settings: Setting[] = [...(isUuid ? [keyOfUuid] : []), ...columnSetting]
    const type = isUuid ? 'string' : 'number'
    return { property, column, kind: 'id', settings, type, isOptional: false }
  }
  const { form } = column
  const where = `${tableName(table)}.${column.name}`
  const kind = isInteger(form.kind) ? storedKind(table, column, keys) : form.kind
  const filled = fillSettings(named, column)
  for (const message of [form.remark, filled.remark])
    if (message !== undefined) remarks.push({ where, message, isLeftOut: false })
  const checks = toRules(conditions, column, kind)
  const preset = filled.settings.find(([name]) => name === 'default')?.[1]
  const isAccepted = typeof preset !== 'string' || acceptsDefault(checks, preset)
  return {
    property,
    column,
    kind,
    settings: [
      ...formSettings(column, isAccepted ? checks : {}),
      ...rules,
      ...filled.settings,
      ...columnSetting,
    ],
    ...propertyType(form.isList === true ? `${typesByKind[kind]}[]` : typesByKind[kind], filled),
  }
}

const keyOfUuid: Setting = ['key', toCode('uuid')]

function propertyType(
  type: string,
  { isNullable, isRequired }: Filling,
): Pick<PulledField, 'type' | 'isOptional'> {
  if (type === 'unknown') return { type, isOptional: !isRequired }
  if (isNullable) return { type: `${type} | null`, isOptional: !isRequired }
  return { type: isRequired ? type : `Generated<${type}>`, isOptional: false }
}

const typesByKind: Readonly<Record<KindName, string>> = {
  id: 'number',
  string: 'string',
  text: 'string',
  integer: 'number',
  numeric: 'number',
  bigint: 'string',
  decimal: 'ExactNumber',
  boolean: 'boolean',
  date: 'string',
  time: 'string',
  datetime: 'string',
  uuid: 'string',
  enum: 'string',
  blob: 'Uint8Array',
  json: 'unknown',
}

/** A foreign key has the kind of the key that it refers to: integers for counted keys, otherwise `bigint`. */
function storedKind(
  table: CatalogueTable,
  column: CatalogueColumn,
  context: TableKeys,
  visited: ReadonlySet<CatalogueColumn> = new Set(),
): KindName {
  const key = context.keyOf(table)
  if (key.includes(column.name) && isGeneratedKey(table, key, context)) return 'integer'
  for (const { target, columns } of context.usableKeysOf(table)) {
    const position = columns.indexOf(column.name)
    const other = target.columns.find(({ name }) => name === context.keyOf(target)[position])
    if (position < 0 || other === undefined || visited.has(other)) continue
    return storedKind(target, other, context, new Set([...visited, column]))
  }
  return column.form.kind
}

function formSettings({ form }: CatalogueColumn, checks: CheckRules): Setting[] {
  const settings: Setting[] = []
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) settings.push([name, toCode(value)])
  }
  const values = checks.oneOf ?? form.values
  if (values !== undefined) settings.push(['oneOf', values.map(toCode)])
  add('pattern', checks.pattern)
  add('precision', form.digits?.precision)
  add('scale', form.digits?.scale)
  add('min', checks.min)
  const isLarge = form.isLarge === true && checks.oneOf === undefined
  add('max', checks.max ?? (isLarge ? Number.MAX_SAFE_INTEGER : undefined))
  add('minLength', checks.minLength)
  const lengths = [checks.maxLength, form.maxLength].filter((length) => length !== undefined)
  if (lengths.length > 0) add('maxLength', Math.min(...lengths))
  if (form.isList === true) add('list', true)
  add('type', form.type)
  return settings
}

/** Whether a new row needs a value of a field. */
interface Filling {
  readonly settings: readonly Setting[]
  readonly isNullable: boolean
  readonly isRequired: boolean
  readonly remark?: string | undefined
}

function fillSettings({ table, key }: NamedTable, column: CatalogueColumn): Filling {
  const isKey = key.includes(column.name)
  const isNullable = column.nullable && !isKey
  const nullable: Setting[] = isNullable ? [['nullable', 'true']] : []
  const isReadOnly = table.kind !== 'table' || key.length === 0
  if (isReadOnly) return { settings: nullable, isNullable, isRequired: true }
  const filled = isKey ? {} : readFilling(column)
  if (filled.setting !== undefined)
    return { settings: [filled.setting, ...nullable], isNullable, isRequired: false }
  const optional: Setting[] = isNullable ? [['optional', 'true']] : []
  const settings = [...optional, ...nullable]
  return { settings, isNullable, isRequired: !isNullable, remark: filled.remark }
}

function readFilling(column: CatalogueColumn): {
  readonly setting?: Setting
  readonly remark?: string
} {
  const { preset, form, isComputed, isCounted } = column
  if (isComputed || isCounted) return { setting: ['generated', 'true'] }
  const value = readDefault(preset, form)
  if (value.is === 'value') return { setting: ['default', value.code] }
  if (value.is === 'none') return {}
  return { remark: `does not get its default, ${preset ?? ''}, in new rows` }
}
