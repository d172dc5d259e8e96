import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Field, Record } from 'filigree'
import { connect, type Database } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { readSql, runSql } from './run-sql.js'

@Record()
class Odd {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string', { optional: true, nullable: true, maxLength: 2_000_000 }) long!: string | null
  @Field('numeric', { nullable: true }) real!: number | null
  @Field('boolean') flag!: boolean
  @Field('datetime') at!: string
  @Field('blob', { optional: true, nullable: true }) bytes!: Uint8Array | null
  @Field('json', { optional: true, nullable: true }) data!: unknown
  @Field('string', { list: true }) words!: string[]
  @Field('decimal', { precision: 12, scale: 2, optional: true, nullable: true }) sum!: string | null
}

const texts = [
  '',
  'NULL',
  'null',
  '{}',
  '{"a"}',
  'a,b',
  '"',
  '\\',
  '\\"x\\',
  ' é😀 ',
  '\n\t',
  "it's",
  '$1',
]

const toRow = (index: number) => ({
  text: texts[index % texts.length] ?? '',
  long: index % 3 === 0 ? null : 'y'.repeat(index % 50),
  real: index % 5 === 0 ? null : 0.1 + index / 3,
  flag: index % 2 === 0,
  at: new Date(1_700_000_000_000 + index).toISOString(),
  bytes: index % 4 === 0 ? null : Buffer.from([0, 34, 92, index % 256]),
  data: index % 7 === 0 ? null : { a: [texts[index % texts.length], { b: index }] },
  words: [texts[index % texts.length] ?? '', 'w'],
  sum: index % 6 === 0 ? null : `${index}.25`,
})

const engines = await startBothEngines()

describe.each(engines)('insertMany on %s', (name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Odd] })
    await database.sync()
  })
  afterAll(() => database.close())

  it('stores the same values as single creates, and reports progress', async () => {
    const odds = database.records(Odd)
    const rows = Array.from({ length: 12_000 }, (_, index) => toRow(index))
    const progress: unknown[] = []
    expect(await odds.insertMany(rows, { onProgress: ({ done }) => progress.push(done) })).toBe(
      12_000,
    )
    expect(progress).toStrictEqual(Array.from({ length: 12 }, (_, index) => (index + 1) * 1000))
    const found = await odds.list({ limit: 300, offset: 9900, orderBy: { id: 'asc' } })
    expect(found.map(({ id }) => id)).toStrictEqual(Array.from({ length: 300 }, (_, i) => 9901 + i))
    const createdSingly = []
    for (const row of found.slice(0, 40))
      createdSingly.push(await odds.create(Object.assign({}, row, { id: undefined })))
    for (const [index, { id, ...values }] of found.slice(0, 40).entries()) {
      const { id: other, ...createdValues } = createdSingly[index] ?? { id: 0 }
      expect(other).toBeGreaterThan(id)
      expect(createdValues).toStrictEqual(values)
      expect(values).toMatchObject({ text: texts[(id - 1) % texts.length] })
    }
  })

  it('stores nothing if one row fails, early or late', async () => {
    const odds = database.records(Odd)
    const before = await odds.count()
    const rows = Array.from({ length: 11_000 }, (_, index) => toRow(index))
    const wrong = [...rows, { ...toRow(0), flag: 'maybe' as never }]
    await expect(odds.insertMany(wrong)).rejects.toMatchObject({
      status: 400,
      errors: [{ path: '11000.flag' }],
    })
    const [{ id } = { id: 0 }] = await odds.list({ limit: 1 })
    const rowsWithDuplicate = [
      ...rows.slice(0, 300),
      { ...toRow(0), id },
      ...rows,
      { text: 1 } as never,
    ]
    await expect(odds.insertMany(rowsWithDuplicate)).rejects.toMatchObject({ status: 409 })
    expect(await odds.count()).toBe(before)
  })

  it('advances the sequence past explicit ids', async () => {
    const odds = database.records(Odd)
    const rows = Array.from({ length: 500 }, (_, index) => ({
      ...toRow(index),
      id: 50_000 + index,
    }))
    await odds.insertMany(rows)
    expect((await odds.create(toRow(1))).id).toBeGreaterThan(50_499)
  })

  it('buffers only a few megabytes at a time', async () => {
    const odds = database.records(Odd)
    let ahead = 0
    let maxAhead = 0
    const rows = function* () {
      for (let index = 0; index < 60; index++) {
        maxAhead = Math.max(maxAhead, ++ahead)
        yield { ...toRow(index), long: 'x'.repeat(1_000_000) }
      }
    }
    await odds.insertMany(rows(), {
      onProgress: ({ done }) => {
        ahead = 0
        expect(done).toBeLessThanOrEqual(60)
      },
    })
    expect(maxAhead).toBeLessThanOrEqual(9)
  })

  it('writes to columns that another program created with other types', async () => {
    if (name === 'SQLite') return
    await runSql(
      database,
      `alter table odd alter column at type text using '2020-01-01T00:00:00.000Z'`,
    )
    await runSql(database, `alter table odd alter column real type numeric`)
    await runSql(database, `alter table odd alter column data type jsonb using data::text::jsonb`)
    await runSql(database, `alter table odd alter column text type varchar(40)`)
    const rows = Array.from({ length: 400 }, (_, index) => toRow(index))
    await database.records(Odd).insertMany(rows)
    const [last] = await readSql(database, 'select at, real from odd order by id desc limit 1')
    expect(last?.map(String)).toStrictEqual([rows[399]?.at, String(rows[399]?.real)])
  })
})
