/** Builds the record `Thing` with the fields of a test, for example before and after a schema change. */
import { Field, type FieldRules, Record, type RecordOptions } from '../../src/index.js'
import type { KindName, Class } from '../public-types.js'

export type Fields = globalThis.Record<string, [KindName, FieldRules?]>

/** @returns a new class for the table `thing`. `more` can add relations before @Record runs. */
export function thing(
  fields: Fields,
  more: (type: Class) => void = () => undefined,
  options: RecordOptions = { table: 'thing' },
): Class {
  const Thing = class {}
  Object.defineProperty(Thing, 'name', { value: 'Thing' })
  Field('id')(Thing.prototype, 'id')
  for (const [name, [kind, rules]] of Object.entries(fields)) {
    Field(kind, rules)(Thing.prototype, name)
  }
  more(Thing)
  Record(options)(Thing)
  return Thing
}
