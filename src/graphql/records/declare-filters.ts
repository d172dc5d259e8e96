/** Declares the input types of filters and orders. Source: decisions, Small print: GraphQL. */
import type { ArgumentDeclaration, TypeDeclaration } from '../declarations.js'
import type { EnumModel, RecordModel } from './model.js'

type Inputs = Record<string, string | ArgumentDeclaration>

/** The filters of scalars, and the directions of orders. */
export function declareScalarFilters(): [string, TypeDeclaration][] {
  return [
    ['IDFilter', filter('ID', [...equality, 'in', ...order])],
    ['IntFilter', filter('Int', [...equality, 'in', ...order])],
    ['FloatFilter', filter('Float', [...equality, 'in', ...order])],
    ['StringFilter', filter('String', [...equality, 'in', ...order, 'like', 'ilike'])],
    ['BooleanFilter', filter('Boolean', [...equality, 'in'])],
    ['DateTimeFilter', filter('String', [...equality, 'in', ...order])],
    ['BytesFilter', filter('String', [...equality, 'in'])],
    ['JsonFilter', filter('String', [])],
    [
      'SortDirection',
      {
        kind: 'enum',
        description: 'Nulls come last unless the name says otherwise.',
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
    [model.name, { kind: 'enum', values: Object.fromEntries(model.values) }],
    [`${model.name}Filter`, filter(model.name, [...equality, 'in'])],
  ]
}

/** `ProductWhere`. */
export function declareWhere(model: RecordModel): TypeDeclaration {
  const name = `${model.name}Where`
  const fields: Inputs = { and: `[${name}!]`, or: `[${name}!]`, not: name }
  for (const field of model.fields.values()) fields[field.name] = field.filter
  for (const { name: relation, target } of model.relations.values())
    fields[relation] = `${target.name}Where`
  return { kind: 'input', fields, description: 'Conditions beside each other must all hold.' }
}

/** `ProductOrder`. */
export function declareOrder(model: RecordModel): TypeDeclaration {
  const fields: Inputs = {}
  for (const { name, isOrdered } of model.fields.values())
    if (isOrdered) fields[name] = 'SortDirection'
  return { kind: 'input', fields, description: 'One field; several orders make a list.' }
}

const equality = ['eq', 'ne']
const order = ['gt', 'gte', 'lt', 'lte']

function filter(type: string, operators: readonly string[]): TypeDeclaration {
  const fields: Inputs = {}
  for (const operator of operators) fields[operator] = operator === 'in' ? `[${type}]` : type
  fields.isNull = 'Boolean'
  return { kind: 'input', fields }
}
