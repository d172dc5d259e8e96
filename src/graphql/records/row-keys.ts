/**
 * How clients name one row: by `id`, or by an argument for each part of a key of several fields. With global ids, always by
 * `id`. Source: decisions, GraphQL.
 *
 * ```graphql
 * orderLine(orderId: "7", line: 2)
 * createShipment(input: { orderLine: { connect: { orderId: "7", line: 2 } } })     # OrderLineKey
 * ```
 */
import { isPlainObject } from '../../core/json.js'
import { hasKey } from '../../engines/contract/table.js'
import type { Id } from '../../records/filters/list-options.js'
import { readKeyTexts } from '../../records/model/record-key.js'
import type { ArgumentDeclaration, TypeDeclaration } from '../declarations.js'
import type { FieldModel, RecordModel } from './model.js'

/** Whether clients name a row by the parts of its key. */
export function hasKeyParts({ ids, table }: RecordModel): boolean {
  return ids.type === undefined && table.key.parts !== undefined && hasKey(table)
}

/** The names of the key in GraphQL: `id`, or the names of its parts. */
export function keyNames(model: RecordModel): readonly string[] {
  if (hasKeyParts(model)) return partsOf(model).map(({ name }) => name)
  return [[...model.fields.values()].find(({ column }) => column.isKey)?.name ?? 'id']
}

/** The arguments that name a row. @param idName the name of an argument for the complete key */
export function declareKey(model: RecordModel, idName = 'id'): Record<string, ArgumentDeclaration> {
  if (!hasKeyParts(model)) return { [idName]: { type: 'ID!', description: 'The key.' } }
  const parts = partsOf(model).map(({ name, type }): [string, ArgumentDeclaration] => [
    name,
    { type: `${type}!`, description: 'A part of the key.' },
  ])
  return Object.fromEntries(parts)
}

/** The type of a key in inputs. */
export function keyType(model: RecordModel): string {
  return hasKeyParts(model) ? `${model.name}Key` : 'ID'
}

/** `OrderLineKey` */
export function declareKeyType(model: RecordModel): [string, TypeDeclaration][] {
  if (!hasKeyParts(model)) return []
  const description = `The key of a ${model.name}.`
  return [[keyType(model), { kind: 'input', description, fields: declareKey(model) }]]
}

/** A row that a client names. */
export interface NamedRow {
  /** Undefined if no row can have the key. */
  readonly key: Id | undefined
  /** The key as the client wrote it, for messages. */
  readonly text: string
}

/** @param values arguments, or an input: with `id`, or with the parts of the key */
export function readKey(
  model: RecordModel,
  values: Readonly<Record<string, unknown>>,
  idName = 'id',
): NamedRow {
  const { ids, table } = model
  if (!hasKeyParts(model))
    return { key: ids.read(values[idName]) as Id | undefined, text: String(values[idName]) }
  const texts = partsOf(model).map(({ name }) => String(values[name]))
  return { key: readKeyTexts(table.key, texts), text: texts.join(',') }
}

/** Reads a key of an input: an id, or an object of type `OrderLineKey`. */
export function readInputKey(model: RecordModel, input: unknown): Id | undefined {
  if (!hasKeyParts(model)) return model.ids.read(input) as Id | undefined
  return readKey(model, isPlainObject(input) ? input : {}).key
}

function partsOf({ fields, table }: RecordModel): readonly FieldModel[] {
  const { parts = [] } = table.key
  return parts.flatMap((part) => [...fields.values()].find(({ column }) => column === part) ?? [])
}
