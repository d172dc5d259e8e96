/** The descriptions of generated fields and arguments, for fields that have no description of their own. */
import type { ArgumentDeclaration, GraphqlField, TypeDeclaration } from '../declarations.js'
import { generatedOf, type GeneratedField, type RecordModel } from './model.js'

/** The descriptions of arguments and fields with the same meaning in every type. */
const descriptions: Readonly<Record<string, string>> = {
  and: 'All of these conditions must hold.',
  asc: 'Smallest first, nulls last.',
  avg: 'Averages of fields.',
  by: 'The unique field, or fields, that identify the row.',
  count: 'The number of rows.',
  cursor: 'The position of the row, for `after` and `before`.',
  edges: 'The rows of the page, in order.',
  endCursor: 'The cursor of the last row. Null if the page is empty.',
  event: 'The kind of the change.',
  expectedVersion:
    'The version that the client has read. If the row has another version, nothing is written.',
  hasNextPage: 'Whether there are rows after the page.',
  hasPreviousPage: 'Whether there are rows before the page.',
  id: 'The key.',
  ids: 'The keys.',
  input: 'The values to write.',
  max: 'Largest values of fields.',
  min: 'Smallest values of fields.',
  node: 'The record.',
  not: 'This condition must not hold.',
  or: 'At least one of these conditions must hold.',
  pageInfo: 'The position of the page.',
  path: 'The path of the value: keys and list indexes.',
  startCursor: 'The cursor of the first row. Null if the page is empty.',
  sum: 'Sums of fields.',
  totalCount: 'The number of rows on all pages.',
}

/** The descriptions of root fields by their kind. */
const rootFieldDescriptions: Readonly<
  Partial<Record<GeneratedField['kind'], (model: Pick<RecordModel, 'name'>) => string>>
> = {
  one: ({ name }) =>
    `A ${name} by its key. Null if it does not exist or the caller may not see it.`,
  list: ({ name }) => `Every ${name} that the caller may see, at most 10 by default.`,
  count: ({ name }) => `The number of ${name} rows that the caller may see.`,
  page: ({ name }) => `A page of ${name} rows, by cursor.`,
  create: ({ name }) => `Creates a ${name}.`,
  update: ({ name }) =>
    `Updates the fields of a ${name} that input names. Null with the error NOT_FOUND if it does not exist.`,
  delete: ({ name }) => `Deletes a ${name}. Returns false if it does not exist.`,
}

/** Adds the descriptions of generated root fields. */
export function describeRootFields(fields: Map<string, GraphqlField>): void {
  for (const [name, field] of fields) fields.set(name, withDescription(field, undefined))
}

/** Adds the descriptions of the fields of generated types, and of their arguments. */
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

function withDescription(field: GraphqlField, fallback: string | undefined): GraphqlField {
  const generated = generatedOf(field)
  const generatedDescription =
    generated !== undefined && 'model' in generated
      ? rootFieldDescriptions[generated.kind]?.(generated.model)
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
