/** One updateMany may exchange unique values of every field kind. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, Field, Record as Table, type Database, type FieldRules } from '../../src/index.js'
import type { KindName } from '../../src/fields/kinds/table.js'
import { startBothEngines } from './both-engines.js'

/** Field kind, rules, and two values to exchange. */
const cases: readonly (readonly [KindName, FieldRules, unknown, unknown])[] = [
  ['string', { maxLength: 8 }, 'a', 'b'],
  ['text', {}, 'a', 'b'],
  ['integer', {}, 1, 2],
  ['integer', { min: 0 }, 1, 2],
  ['integer', { max: 10 }, 1, 2],
  ['integer', { min: 1, max: 1_000_000 }, 1, 2],
  ['bigint', { min: '0' }, '1', '9007199254740993'],
  ['bigint', {}, '1', '-2'],
  ['numeric', {}, 1.5, 2.5],
  ['numeric', { min: 0.5 }, 1.5, 2.5],
  ['decimal', {}, '1.50', '2.50'],
  ['decimal', { min: '0', precision: 9, scale: 0 }, '1', '2'],
  ['decimal', { max: '99.99', precision: 8, scale: 4 }, '1.5000', '2.5000'],
  ['date', {}, '2026-11-20', '2026-11-21'],
  ['date', { min: '2000-01-01' }, '2026-11-20', '2026-11-21'],
  ['datetime', {}, '2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ['datetime', { min: '2000-01-01' }, '2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ['time', {}, '10:30:00', '11:30:00'],
  ['time', { min: '08:00:00', max: '20:00:00' }, '10:30:00', '11:30:00'],
  ['blob', { maxLength: 12 }, Buffer.from('a'), Buffer.from('b')],
]

@Table()
class Kinds {
  @Field('id') id!: number;
  [name: string]: unknown
}
for (const [index, [kind, rules]] of cases.entries())
  Field(kind, { ...rules, unique: true })(Kinds.prototype, `f${index}`)

describe.each(await startBothEngines())('unique values of every kind: %s', (_name, address) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await address(), { records: [Kinds] })
    await database.sync()
  })
  afterAll(() => database.close())

  it('can be exchanged in one call', async () => {
    const records = database.records(Kinds)
    const values = (at: 2 | 3): Record<string, unknown> =>
      Object.fromEntries(cases.map((one, index) => [`f${index}`, one[at]]))
    const [first, second] = await records.createMany([values(2), values(3)] as never)
    await records.updateMany([
      { id: first?.id, ...values(3) },
      { id: second?.id, ...values(2) },
    ] as never)
    const rows = await records.list({ orderBy: [{ id: 'asc' }] } as never)
    expect(rows).toMatchObject([values(3), values(2)])
  })
})
