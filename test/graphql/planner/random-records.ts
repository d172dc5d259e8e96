/** Random record classes and rows of them. */
import fc from 'fast-check'
import {
  BelongsTo,
  type Database,
  Field,
  type FieldRules,
  HasMany,
  ManyToMany,
  Record as RecordOf,
} from '../../../src/index.js'
import type { Class } from '../../public-types.js'

/** Draws a value, reproducibly. */
export type Draw = <T>(arbitrary: fc.Arbitrary<T>) => T

export interface RandomField {
  readonly name: string
  readonly kind: string
  readonly rules: FieldRules
}

export interface RandomRecord {
  readonly type: Class
  readonly name: string
  readonly isUuid: boolean
  /** Without the key and foreign keys. */
  readonly fields: RandomField[]
  /** Foreign keys, by their field. */
  readonly owners: { readonly by: string; readonly name: string; readonly target: RandomRecord }[]
  readonly lists: { readonly name: string; readonly target: RandomRecord }[]
  readonly pairs: { readonly name: string; readonly target: RandomRecord }[]
}

const kinds = [
  'string',
  'text',
  'integer',
  'numeric',
  'boolean',
  'datetime',
  'blob',
  'json',
] as const
const colors = ['red', 'light-blue', "o'clock", '3']

/** @param prefix of the table names, so that many sets fit in one database */
export function drawRecords(draw: Draw, prefix: string): RandomRecord[] {
  const count = draw(fc.integer({ min: 2, max: 4 }))
  const records = Array.from({ length: count }, (_, index) => drawRecord(draw, index, prefix))
  for (const [index, record] of records.entries()) {
    if (index > 0) drawOwner(draw, record, records.slice(0, index + 1), 'owner')
    if (index > 1 && draw(fc.boolean())) drawOwner(draw, record, records.slice(0, index), 'other')
  }
  const [first, second] = records
  if (first !== undefined && second !== undefined && draw(fc.boolean())) linkPair(first, second)
  return records
}

function drawRecord(draw: Draw, index: number, prefix: string): RandomRecord {
  const name = `Thing${index}`
  const type = { [name]: class {} }[name] as Class
  const isUuid = draw(fc.integer({ max: 3, min: 0 })) === 0
  Field('id', isUuid ? { key: 'uuid' } : {})(type.prototype as object, 'id')
  const fields = Array.from({ length: draw(fc.integer({ min: 1, max: 6 })) }, (_, place) =>
    drawField(draw, place),
  )
  for (const { name: property, kind, rules } of fields)
    Field(kind as 'string', rules)(type.prototype as object, property)
  Field('string', { hidden: true, default: 'x' })(type.prototype as object, 'secret')
  RecordOf({ table: `${prefix}_${index}`, softDelete: draw(fc.boolean()) })(type)
  return { type, name, isUuid, fields, owners: [], lists: [], pairs: [] }
}

function drawField(draw: Draw, place: number): RandomField {
  const nullable = draw(fc.boolean()) ? { nullable: true, optional: true } : {}
  const name = place % 2 === 0 ? `field${place}` : `snake_field_${place}`
  const special = draw(fc.integer({ min: 0, max: 7 }))
  if (special === 0)
    return { name, kind: 'string', rules: { oneOf: colors, enum: 'Color', ...nullable } }
  const kind = draw(fc.constantFrom(...kinds))
  const list = special === 1 && kind !== 'json' && kind !== 'blob'
  return { name, kind, rules: list ? { list: true, ...nullable } : nullable }
}

function drawOwner(
  draw: Draw,
  record: RandomRecord,
  targets: readonly RandomRecord[],
  name: string,
) {
  const target = targets[draw(fc.integer({ min: 0, max: targets.length - 1 }))] as RandomRecord
  const by = `${name}Id`
  Field(target.isUuid ? 'string' : 'integer', { nullable: true, optional: true })(
    record.type.prototype as object,
    by,
  )
  BelongsTo(() => target.type, { by })(record.type.prototype as object, name)
  record.owners.push({ by, name, target })
  const list = `${name}Of${record.name}`
  HasMany(() => record.type, { by })(target.type.prototype as object, list)
  target.lists.push({ name: list, target: record })
}

function linkPair(one: RandomRecord, other: RandomRecord): void {
  ManyToMany(() => other.type)(one.type.prototype as object, 'partners')
  ManyToMany(() => one.type)(other.type.prototype as object, 'partners')
  one.pairs.push({ name: 'partners', target: other })
  other.pairs.push({ name: 'partners', target: one })
}

/** Rows of every record, linked at random; some are deleted again. */
export async function drawRows(
  draw: Draw,
  records: readonly RandomRecord[],
  database: Database,
): Promise<void> {
  const ids = new Map<RandomRecord, unknown[]>()
  for (const record of records) {
    const createdIds: unknown[] = []
    ids.set(record, createdIds)
    const repository = database.records(record.type)
    const count = draw(fc.integer({ min: 0, max: 8 }))
    for (let row = 0; row < count; row++) {
      const values = drawValues(draw, record, ids)
      const created = (await repository.create(values)) as { id: unknown }
      createdIds.push(created.id)
    }
  }
  for (const record of records) {
    for (const { name, target } of record.pairs) {
      for (const id of ids.get(record) ?? []) {
        const linkedIds = draw(fc.subarray(ids.get(target) ?? [])) as number[]
        await database.records(record.type).link(id as number, name as never, linkedIds)
      }
    }
    const [first] = ids.get(record) ?? []
    const isDeleted = draw(fc.integer({ min: 0, max: 3 })) === 0
    if (first === undefined || !isDeleted) continue
    await database
      .records(record.type)
      .delete(first as number)
      .catch(() => false)
  }
}

function drawValues(
  draw: Draw,
  record: RandomRecord,
  ids: ReadonlyMap<RandomRecord, readonly unknown[]>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const field of record.fields) values[field.name] = drawValue(draw, field)
  for (const { by, target } of record.owners) {
    const targetIds = ids.get(target) ?? []
    values[by] = targetIds.length === 0 ? null : draw(fc.option(fc.constantFrom(...targetIds)))
  }
  return values
}

function drawValue(draw: Draw, { kind, rules }: RandomField): unknown {
  if (rules.nullable === true && draw(fc.integer({ min: 0, max: 3 })) === 0) return null
  const one = scalar(kind, rules)
  return draw(rules.list === true ? fc.array(one, { maxLength: 3 }) : one)
}

/** Values of a kind: few, so that filters match some, and with characters that JSON must escape. */
export function scalar(kind: string, rules: FieldRules): fc.Arbitrary<unknown> {
  if (rules.oneOf !== undefined) return fc.constantFrom(...rules.oneOf)
  return values[kind] as fc.Arbitrary<unknown>
}

const texts = [
  '',
  'a',
  'A',
  'ab',
  'Ä',
  "o'c",
  'say "hi"',
  '100%',
  'a_b',
  'back\\slash',
  'line\nbreak',
]
const oddTexts = ['\u0001\t\r', '😀', '\u2028', '</script>', '{"a":1}', 'é', 'z'.repeat(80)]
const text = fc.constantFrom(...texts, ...oddTexts)

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  text,
  integer: fc.oneof(
    { weight: 30, arbitrary: fc.integer({ min: -3, max: 5 }) },
    { weight: 2, arbitrary: fc.constantFrom(2147483647, -2147483648) },
    { weight: 1, arbitrary: fc.constantFrom(2147483648, -9007199254740991) },
  ),
  numeric: fc.oneof(
    fc.integer({ min: -3, max: 5 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0.1 + 0.2, 1e21, 5e-324, 1.7976931348623157e308, 123456789.12345679),
  ),
  boolean: fc.boolean(),
  datetime: fc.constantFrom(
    '2026-01-01T00:00:00.000Z',
    '2026-11-20T12:30:00+02:00',
    '1999-12-31T23:59:59.999Z',
  ),
  blob: fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
  json: fc
    .jsonValue({ maxDepth: 2 })
    .filter((value) => value !== null && !JSON.stringify(value).includes('__proto__')),
}
