/** Declares the input types of filters, orders and nested records. Source: decisions, GraphQL. */
import type { TypeDeclaration, ArgumentDeclaration } from '../declarations.js'
import type { Kind } from '../../fields/kinds/kind.js'
import { kinds } from '../../fields/kinds/table.js'
import { operatorOf, operatorsFor, type OperandKind } from '../../sql/operators.js'
import type { ColumnComparison } from '../../engines/contract/table.js'
import { describeColumn, declareInput } from './declare-types.js'
import type { EnumModel, NestedModel, RecordModel, RelationModel } from './model.js'
import type { NestedOperation } from '../../records/statements/read-tree.js'
import { keyType } from './row-keys.js'
import { operationsOn } from './write-records.js'

/** The scalar of integers beyond the 32 bits of GraphQL's `Int`, for operands of filters and for sums. */
const integerScalar: [string, TypeDeclaration] = [
  'Integer',
  {
    kind: 'scalar',
    description: 'An integer. Beyond 2^53, where a JSON number would lose digits, a string.',
    read: (value) => {
      if (typeof value === 'number' && Number.isSafeInteger(value)) return value
      throw new TypeError(`Integer cannot represent non-integer value: ${JSON.stringify(value)}`)
    },
    write: (value) => value,
  },
]

type Inputs = Record<string, string | ArgumentDeclaration>

/** The filters of field kinds, and the directions of orders. */
export function declareScalarFilters(
  models: readonly Pick<RecordModel, 'fields'>[],
): [string, TypeDeclaration][] {
  const filters = new Map<string, TypeDeclaration>()
  for (const { graphql, compares } of Object.values<Kind>(kinds)) {
    const name = `${graphql.filter}Filter`
    const type = graphql.type === 'Int' ? 'Integer' : graphql.type
    if (!filters.has(name)) filters.set(name, declareFilter(type, compares))
    filters.set(`${graphql.filter}ListFilter`, declareFilter(type, 'list'))
  }
  filters.set('JsonFilter', jsonFilter)
  const used = new Set(
    models.flatMap(({ fields }) => [...fields.values()].map((field) => field.filter)),
  )
  return [
    ...[...filters].filter(([name]) => used.has(name)),
    ...(used.has('JsonFilter') ? [jsonValue] : []),
    ...(used.has('IntFilter') || used.has('IntListFilter') ? [integerScalar] : []),
    [
      'SortDirection',
      {
        kind: 'enum',
        description: 'The direction of an order. Nulls come last by default.',
        meanings: {
          asc: 'Smallest first, nulls last.',
          desc: 'Largest first, nulls last.',
          asc_nulls_first: 'Nulls first, then the smallest.',
          desc_nulls_first: 'Nulls first, then the largest.',
        },
        values: {
          asc: 'asc',
          desc: 'desc',
          asc_nulls_first: { direction: 'asc', nulls: 'first' },
          desc_nulls_first: { direction: 'desc', nulls: 'first' },
        },
      },
    ],
  ]
}

export function declareEnum(model: EnumModel): [string, TypeDeclaration][] {
  return [
    [
      model.name,
      {
        kind: 'enum',
        values: Object.fromEntries(model.values),
        description: `One of ${[...model.values.values()].join(', ')}.`,
      },
    ],
    [`${model.name}Filter`, declareFilter(model.name, 'equality')],
    [`${model.name}ListFilter`, declareFilter(model.name, 'list')],
  ]
}

/** `ProductWhere`. */
export function declareWhere(model: RecordModel): TypeDeclaration {
  const name = `${model.name}Where`
  const fields: Inputs = { and: `[${name}!]`, or: `[${name}!]`, not: name }
  for (const field of model.fields.values())
    fields[field.name] = { type: field.filter, description: describeColumn(field, model) }
  for (const { name: relation, target, isList } of model.relations.values()) {
    const description = `${isList ? 'Matches if at least one related row matches' : 'Conditions for the related row'}: ${target.name}.`
    fields[relation] = { type: `${target.name}Where`, description }
  }
  const searched = model.table.search?.columns ?? []
  const names = [...model.fields.values()].filter(({ column }) => searched.includes(column))
  if (names.length > 0 && names.length === searched.length) {
    const description = `Words that must all be in ${names.map(({ name }) => name).join(', ')}. Without orderBy the best matches come first.`
    fields.search = { type: 'String', description }
  }
  return { kind: 'input', fields, description: 'All conditions must hold.' }
}

/** `MoneyWhere`: conditions on the parts of a nested class. */
export function declarePartsWhere(model: NestedModel): TypeDeclaration {
  const name = `${model.name}Where`
  const isNull = { type: 'Boolean', description: operatorOf('isNull').meaning }
  const fields: Inputs = { and: `[${name}!]`, or: `[${name}!]`, not: name, isNull }
  for (const field of model.fields.values())
    fields[field.name] = { type: field.filter, description: describeColumn(field, model) }
  return { kind: 'input', fields, description: 'All conditions must hold.' }
}

/** `ProductOrder`. */
export function declareOrder(model: RecordModel): TypeDeclaration {
  const fields: Inputs = {}
  for (const { name, isOrdered } of model.fields.values())
    if (isOrdered) fields[name] = { type: 'SortDirection', description: `By ${name}.` }
  for (const { name, target, isList } of model.relations.values())
    if (!isList)
      fields[name] = {
        type: `${target.name}Order`,
        description: `By a field of its ${target.name}.`,
      }
  return { kind: 'input', fields, description: 'The order by one field. Use a list for several.' }
}

/** @param description default: it compares the type with values */
export function declareFilter(
  type: string,
  compares: ColumnComparison,
  description = `Compares ${compares === 'list' ? `lists of ${type}` : type} with values.`,
): TypeDeclaration {
  const fields: Inputs = {}
  for (const name of operatorsFor(compares)) {
    const { operand, meaning } = operatorOf(name)
    fields[name] = { type: operandTypes[operand](type), description: meaning }
  }
  return { kind: 'input', fields, description }
}

const operandTypes: Readonly<Record<OperandKind, (type: string) => string>> = {
  value: (type) => type,
  item: (type) => type,
  list: (type) => `[${type}]`,
  values: (type) => `[${type}!]`,
  pattern: () => 'String',
  part: () => 'String',
  flag: () => 'Boolean',
}

const jsonFilter: TypeDeclaration = {
  kind: 'input',
  description: 'Compares a value within JSON, at a path of keys and list indexes.',
  fields: {
    path: '[String!]',
    ...(declareFilter('JsonValue', 'json') as { fields: Inputs }).fields,
  },
}

const jsonValue: [string, TypeDeclaration] = [
  'JsonValue',
  { kind: 'scalar', description: 'A JSON number, string or boolean.' },
]

/**
 * `ProductNested` for a relation to one row, and `ProductNestedList` for a relation to many.
 *
 * @param relations all that lead to the record
 */
export function declareNestedTypes(
  model: RecordModel,
  relations: readonly RelationModel[],
): [string, TypeDeclaration][] {
  const types: [string, TypeDeclaration][] = []
  if (relations.some(({ isList }) => !isList)) {
    const { name } = model
    const connect = keyType(model)
    const rowForms = { create: `${name}Input`, update: `${name}Input`, connect }
    const forms = { ...rowForms, disconnect: 'Boolean', delete: 'Boolean' }
    const description = `One operation on the related ${name}, or the fields of a new one.`
    types.push([`${name}Nested`, declare(model, operationsOn(model), forms, description)])
  }
  const lists = relations.filter(({ isList }) => isList)
  if (lists.length > 0) {
    const { name } = model
    const operations = operationsOn(
      model,
      lists.some(({ isLinkable }) => isLinkable),
    )
    const ids = `[${keyType(model)}!]`
    const forms = { connect: ids, disconnect: ids, delete: ids }
    const description = `Operations on related rows of ${name}, or the fields of a new one.`
    const rows = { create: `[${name}Input!]`, update: `[${name}Changes!]` }
    types.push([
      `${name}NestedList`,
      declare(model, operations, { ...rows, ...forms }, description),
    ])
  }
  return types.filter(([, type]) => type.kind === 'input' && Object.keys(type.fields).length > 0)
}

const meanings: Readonly<Record<NestedOperation, string>> = {
  create: 'Creates related rows.',
  update: 'Updates rows that are already related.',
  connect: 'Relates the rows with these keys.',
  disconnect: 'Ends the relation without deleting the row.',
  delete: 'Deletes rows that are already related.',
}

function declare(
  model: RecordModel,
  operations: readonly NestedOperation[],
  forms: Readonly<Record<NestedOperation, string>>,
  description: string,
): TypeDeclaration {
  const input = declareInput(model)
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const name of operations) fields[name] = { type: forms[name], description: meanings[name] }
  const inputFields = input?.kind === 'input' && model.writes.create !== false ? input.fields : {}
  return { kind: 'input', description, fields: { ...fields, ...inputFields } }
}
