/** Says of what is generated what it is for, where its declaration does not: each field, argument and type by its place. */
import type { ArgumentDeclaration, FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { generatedOf, type GeneratedField, type RecordModel } from './model.js'

/** Members of inputs, arguments, and parts of pages and aggregates that mean the same wherever they stand. */
const descriptions: Readonly<Record<string, string>> = {
  after: 'A cursor: only what stands behind it.',
  and: 'All of these must hold.',
  asc: 'Smallest first, nulls last.',
  avg: 'Means of fields.',
  before: 'A cursor: only what stands before it.',
  by: 'The unique field by whose value the row is found.',
  count: 'How many rows there are.',
  cursor: 'Its place in the order, for `after` and `before`.',
  edges: 'What the page shows, in order.',
  endCursor: 'The cursor of the last one; null where the page is empty.',
  event: 'What became of it.',
  expectedVersion: 'The version that the caller has seen: with another one nothing is written.',
  first: 'So many from the beginning, or behind `after`: 10 where `last` is not given either.',
  groupBy: 'The fields whose values make the groups. Without it all rows are one.',
  groupByTime: 'Moments and dates by whose local time groups are made, behind those of `groupBy`.',
  hasNextPage: 'Whether something stands behind the page.',
  hasPreviousPage: 'Whether something stands before the page.',
  having: 'Which groups are shown.',
  id: 'The key.',
  ids: 'The keys.',
  input: 'What is written.',
  last: 'So many from the end, or before `before`. Not beside `first`.',
  limit: 'At most so many.',
  max: 'Largest values of fields.',
  min: 'Smallest values of fields.',
  node: 'The record itself.',
  not: 'This must not hold.',
  offset: 'So many are passed over.',
  or: 'At least one of these must hold.',
  orderBy: 'By what they are sorted, the first first. By the key where nothing is said.',
  pageInfo: 'Where the page stands.',
  path: 'Where the value stands: keys, and places in lists.',
  startCursor: 'The cursor of the first one; null where the page is empty.',
  sum: 'Sums of fields.',
  totalCount: 'How many there are on all pages.',
  where: 'Which ones: everything that it names must hold. All where nothing is said.',
}

/** A root field by what it does. */
const roots: Readonly<
  Partial<Record<GeneratedField['kind'], (model: Pick<RecordModel, 'name'>) => string>>
> = {
  one: ({ name }) => `One ${name} by its key; null where the caller sees none.`,
  list: ({ name }) => `Every ${name} that the caller sees, 10 unless limit says otherwise.`,
  count: ({ name }) => `How many of ${name} the caller sees.`,
  page: ({ name }) => `A page of ${name}, by cursor.`,
  create: ({ name }) => `Makes a ${name}.`,
  update: ({ name }) =>
    `Changes what input names of a ${name}; null with NOT_FOUND where there is none.`,
  delete: ({ name }) => `Deletes a ${name}: true, or false where there is none.`,
}

export function describeRoots(fields: Map<string, FieldDeclaration>): void {
  for (const [name, field] of fields) fields.set(name, withDescription(field, undefined))
}

export function describeTypes(types: Map<string, TypeDeclaration>): void {
  for (const [name, type] of types) {
    if (type.kind === 'object') {
      const fields = Object.entries(type.fields).map(([key, field]) => [
        key,
        withDescription(typeof field === 'string' ? { type: field } : field, descriptions[key]),
      ])
      types.set(name, { ...type, fields: Object.fromEntries(fields) as typeof type.fields })
    } else if (type.kind === 'input')
      types.set(name, { ...type, fields: describeInputs(type.fields) })
  }
}

function withDescription(field: FieldDeclaration, fallback: string | undefined): FieldDeclaration {
  const generated = generatedOf(field)
  const generatedDescription =
    generated !== undefined && 'model' in generated
      ? roots[generated.kind]?.(generated.model)
      : undefined
  const description = field.description ?? generatedDescription ?? fallback
  return {
    ...field,
    ...(description === undefined ? {} : { description }),
    ...(field.args === undefined ? {} : { args: describeInputs(field.args) }),
  }
}

function describeInputs(
  declarations: Readonly<Record<string, string | ArgumentDeclaration>>,
): Record<string, ArgumentDeclaration> {
  const all: Record<string, ArgumentDeclaration> = {}
  for (const [name, declared] of Object.entries(declarations)) {
    const argument = typeof declared === 'string' ? { type: declared } : declared
    const description = argument.description ?? descriptions[name]
    all[name] = description === undefined ? argument : { ...argument, description }
  }
  return all
}
