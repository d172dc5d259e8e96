/** Versions of a record with each option that affects its table, before and after a change. */
import { BelongsTo, Field, Record, type FieldRules, type RecordOptions } from '../../src/index.js'
import type { KindName, Class } from '../public-types.js'

@Record
export class Owner {
  @Field('id') id!: number
  @Field('string', { default: '' }) name!: string
}

export type Rules = FieldRules & {
  readonly onDelete?: 'cascade' | 'restrict' | 'setNull' | undefined
}
export interface Version {
  readonly fields: Readonly<globalThis.Record<string, readonly [KindName, Rules]>>
  readonly options: RecordOptions
}

/** `ownerId` with `onDelete` belongs to an Owner. */
export function toClass({ fields, options }: Version): Class {
  const Thing = class {}
  Object.defineProperty(Thing, 'name', { value: 'Thing' })
  Field('id')(Thing.prototype, 'id')
  for (const [name, [kind, { onDelete, ...rules }]] of Object.entries(fields)) {
    Field(kind, rules)(Thing.prototype, name)
    if (onDelete !== undefined)
      BelongsTo(() => Owner, { by: name, onDelete })(Thing.prototype, `${name}Owner`)
  }
  Record({ table: 'thing', ...options })(Thing)
  return Thing
}

/** The fields of most versions. */
export const base: Version = {
  fields: { name: ['string', {}], ownerId: ['integer', {}] },
  options: {},
}
const field = (kind: KindName, rules: Rules): Version => ({
  ...base,
  fields: { ...base.fields, name: [kind, rules] },
})
const owner = (rules: Rules): Version => ({
  ...base,
  fields: { ...base.fields, ownerId: ['integer', rules] },
})
const option = (options: RecordOptions, rules: Rules = {}): Version => ({
  options,
  fields: { ...base.fields, name: ['string', rules] },
})

const together = (unique: boolean | string): Version => ({
  ...base,
  fields: { name: ['string', { unique: unique || true }], ownerId: ['integer', { unique }] },
})

/** Each option of `@Field`, `@BelongsTo` and `@Record` that affects the table, before and after the change. */
export const changes: readonly (readonly [string, Version, Version])[] = [
  ['nullable', base, field('string', { nullable: true })],
  ['optional', base, field('string', { optional: true })],
  ['default', base, field('string', { default: 'a' })],
  ['another default', field('string', { default: 'a' }), field('string', { default: 'b' })],
  ['a default of numbers', field('integer', { default: 1 }), field('integer', { default: -2 })],
  [
    'a default of decimals',
    field('decimal', { default: '1.50' }),
    field('decimal', { default: '2' }),
  ],
  ['a default timestamp', field('datetime', {}), field('datetime', { default: 'now' })],
  [
    'another default timestamp',
    field('datetime', { default: '2026-01-01T00:00:00.000Z' }),
    field('datetime', { default: '2026-01-02T00:00:00.000Z' }),
  ],
  [
    'a default of dates',
    field('date', { default: '2026-01-01' }),
    field('date', { default: 'now' }),
  ],
  ['a default of JSON', field('json', {}), field('json', { default: { a: [1] } })],
  [
    'a default of booleans',
    field('boolean', { default: true }),
    field('boolean', { default: false }),
  ],
  ['min', field('integer', { min: 1 }), field('integer', { min: 2 })],
  ['max', field('integer', {}), field('integer', { max: 2 })],
  ['oneOf', field('string', { oneOf: ['a'] }), field('string', { oneOf: ['a', 'b'] })],
  ['maxLength', field('string', { maxLength: 4 }), field('string', { maxLength: 5 })],
  ['check', field('integer', { min: 1 }), field('integer', { min: 1, check: false })],
  [
    'kind',
    field('integer', { default: 1, min: 1 }),
    field('string', { default: 'a', maxLength: 9 }),
  ],
  [
    'text to datetime, with rules',
    field('string', { nullable: true, oneOf: ['a', 'b'] }),
    field('datetime', { default: 'now' }),
  ],
  ['kind of numbers', field('integer', {}), field('decimal', { precision: 12, scale: 2 })],
  ['kind of texts', field('uuid', {}), field('string', {})],
  ['precision', field('decimal', { precision: 12 }), field('decimal', { precision: 30 })],
  ['scale', field('decimal', { scale: 2 }), field('decimal', { scale: 4 })],
  ['unique', base, field('string', { unique: true })],
  ['unique together', together(false), together('place')],
  ['index', base, field('string', { index: true })],
  ['onDelete', owner({ onDelete: 'restrict' }), owner({ onDelete: 'cascade' })],
  [
    'onDelete of optional ones',
    owner({ nullable: true, onDelete: 'cascade' }),
    owner({ nullable: true, onDelete: 'setNull' }),
  ],
  ['@BelongsTo', base, owner({ onDelete: 'restrict' })],
  [
    'index of a reference',
    owner({ onDelete: 'restrict' }),
    owner({ onDelete: 'restrict', index: false }),
  ],
  ['indexes', base, option({ indexes: [{ fields: ['-name'] }] })],
  [
    'a unique one of indexes',
    option({ indexes: [{ fields: ['name'], unique: true, where: { ownerId: 1 } }] }),
    option({ indexes: [{ fields: ['name'], unique: true, where: { ownerId: 2 } }] }),
  ],
  ['like', base, option({ indexes: [{ fields: ['name'], like: true }] })],
  ['softDelete', option({}, { unique: true }), option({ softDelete: true }, { unique: true })],
  [
    'softDelete with indexes',
    option({ indexes: [{ fields: ['name'], unique: true, where: { ownerId: 1 } }] }),
    option({
      softDelete: true,
      indexes: [{ fields: ['name'], unique: true, where: { ownerId: 1 } }],
    }),
  ],
  [
    'softDelete and a new name',
    option({ softDelete: true }, { unique: true }),
    { options: {}, fields: { title: ['string', { was: 'name' }], ownerId: ['integer', {}] } },
  ],
  ['timestamps', base, option({ timestamps: true })],
  ['version', base, option({ version: true })],
  ['search', option({ search: ['name'] }), base],
  ['shardBy', base, option({ shardBy: 'ownerId' })],
]
