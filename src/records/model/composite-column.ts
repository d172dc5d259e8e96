/**
 * A key or foreign key of several columns, described as one column. Its value is the canonical JSON text of its parts
 * (`record-key.ts`). Always the same object for the same columns.
 */
import type { Column } from '../../engines/contract/table.js'
import { kindOf } from '../../fields/kinds/table.js'
import type { ShapeField } from '../../fields/shape.js'

const cachedColumns = new WeakMap<Column, Map<string, Column>>()

/** @param parts columns of one table; without parts, the key of a table that has none */
export function compositeColumn(parts: readonly Column[], isKey = false): Column {
  const property = toProperty(parts.map((part) => part.property))
  const [first] = parts
  const columns = first && (cachedColumns.get(first) ?? new Map<string, Column>())
  const cached = columns?.get(property)
  if (cached !== undefined) return cached
  const column = createColumn(parts, property, isKey)
  if (first !== undefined && columns !== undefined) {
    cachedColumns.set(first, columns)
    columns.set(property, column)
  }
  return column
}

function createColumn(parts: readonly Column[], property: string, isKey: boolean): Column {
  const nullable = parts.some((part) => part.nullable)
  const hidden = parts.some(({ field }) => field.hidden)
  const optional = parts.some(({ field }) => field.optional)
  return Object.freeze({
    property,
    name: namesOf(parts.map(({ name }) => name)),
    field: fieldOf(property, { nullable, hidden, optional }),
    storage: 'text',
    compares: 'equality',
    isBoolean: false,
    nullable,
    isKey,
    isComputed: false,
    generated: undefined,
    isUuid: false,
    type: undefined,
    isArray: false,
    parts: Object.freeze([...parts]),
  })
}

/** A name that no field has: filters by a field of the key compare the field. */
function toProperty(names: readonly string[]): string {
  return names.length === 1 ? `${namesOf(names)},` : namesOf(names)
}

function namesOf(names: readonly string[]): string {
  return names.join(',')
}

function fieldOf(
  name: string,
  rules: Pick<ShapeField, 'nullable' | 'hidden' | 'optional'>,
): ShapeField {
  const entry = { ...kindOf('string', {}), label: 'a key' }
  return Object.freeze({
    name,
    kind: 'string',
    entry,
    nested: undefined,
    list: false,
    readOnly: false,
    rules: Object.freeze({}),
    declared: undefined,
    messages: Object.freeze({}),
    constraints: [],
    ...rules,
  })
}
