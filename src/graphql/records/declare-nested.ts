/**
 * Declares the inputs of nested records: an object of operations, `products: { create, update, connect, disconnect,
 * delete }`, or rows that are created with their parent. Source: decisions, Records: writes.
 */
import type { ArgumentDeclaration, TypeDeclaration } from '../declarations.js'
import type { NestedOperation } from '../../records/statements/nested-input.js'
import { declareInput } from './declare-types.js'
import type { RecordModel } from './model.js'
import { operationsOn } from './read-input.js'

/** `ProductNested` for a relation to one row, and `ProductNestedList` for a relation to many. */
export function declareNestedTypes(
  model: RecordModel,
  models: readonly RecordModel[],
): [string, TypeDeclaration][] {
  const types: [string, TypeDeclaration][] = []
  const kinds = models
    .flatMap(({ relations }) => [...relations.values()])
    .filter(({ target }) => target === model)
  if (kinds.some(({ isList }) => !isList)) {
    const { name } = model
    const rowForms = { create: `${name}Input`, update: `${name}Input`, connect: 'ID' } as const
    const forms = { ...rowForms, disconnect: 'Boolean', delete: 'Boolean' }
    const description = `One operation on the related ${name}, or the fields of a new one.`
    types.push([`${name}Nested`, declare(model, operationsOn(model), forms, description)])
  }
  const lists = kinds.filter(({ isList }) => isList)
  if (lists.length > 0) {
    const { name } = model
    const operations = operationsOn(
      model,
      lists.every(({ idsName }) => idsName === undefined),
    )
    const ids = '[ID!]'
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
