/** Values of all kinds in CSV of the admin page: an exported file that is imported again stores the same values. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database, Field, ManyToMany, Module, Record, type Rel } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { randomNumbers, rounds, seed } from '../random.js'
import { startBothEngines } from '../records/both-engines.js'
import { OpenLogin } from './open-login.js'

const none = { nullable: true, optional: true } as const

class Part {
  @Field('string') name!: string
  @Field('numeric', none) size?: number | null
  @Field('json', none) data?: unknown
}

@Record({ writes: ['clerk', 'chief'] })
@Admin({ title: 'id' })
class Sample {
  @Field('id') id!: number
  @Field('string', none) string?: string | null
  @Field('text', none) text?: string | null
  @Field('string', { default: 'filled' }) word!: string
  @Field('integer', none) integer?: number | null
  @Field('numeric', none) numeric?: number | null
  @Field('bigint', none) bigint?: string | null
  @Field('decimal', { scale: 3, ...none }) decimal?: string | null
  @Field('boolean', none) boolean?: boolean | null
  @Field('datetime', none) datetime?: string | null
  @Field('date', none) date?: string | null
  @Field('time', none) time?: string | null
  @Field('uuid', none) uuid?: string | null
  @Field('enum', { oneOf: ['red', ' blue', '-1', '=2', ''], ...none }) enum?: string | null
  @Field('blob', none) blob?: Buffer | null
  @Field('json', none) json?: unknown
  @Field(() => Part, none) part?: Part | null
  @Field('string', { list: true, ...none }) strings?: string[] | null
  @Field('numeric', { list: true, ...none }) numbers?: number[] | null
  @Field('json', { list: true, ...none }) values?: unknown[] | null
  @Field(() => Part, { list: true, ...none }) parts?: Part[] | null
}

@Record({ writes: ['clerk', 'chief'] })
@Admin({ title: 'name' })
class Tag {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ writes: { create: ['chief'], update: ['clerk', 'chief'] } })
@Admin({ title: 'name' })
class Bill {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { writes: 'chief', default: 1 }) price!: number
  @ManyToMany(() => Tag, { writes: 'chief' }) tags!: Rel<Tag[]>
}

@Module({
  controllers: [OpenLogin],
  records: [Sample, Bill, Tag],
  imports: [
    admin({
      ...{ path: '/admin', roles: ['clerk', 'chief'], login: { path: '/login' } },
      records: [Sample, Bill, Tag],
    }),
  ],
})
class App {}

const texts = [
  ...['', ' ', 'a', '5', '-5', '+49', '1e-7', 'null', 'true', '[1]', '""', '"', '"a', 'a"b', "'"],
  ...["'a", "''", "'=1", "''-x", "'5", '=1+1', '+x', '-x', '@a', '\t', '\tb', 'x;=1+1', 'x\t=1'],
  ...['a,b', 'a;b', '\n', '\r\n=1', '\r', 'a\rb', '\ufeff', '\ufeffa', '\ufeff=1', ' a ', '\u00a0'],
  ...['＝1', "'＠a", '😀', '{"a":1}', '0x10', 'Ä', '"\r\n"', ',', ';', "';=1", '-', '--', '1,5'],
]
const numbers = [0, -0, 1, -1.5, 1e-7, -1e-7, 1e21, -1e21, 123456789012345680000, 5e-324, 1e300]
const json = [
  ...['5', '', 'null', '[1]', 'true', '"', "'a", '=1', 'a,b\n;"c'],
  ...[5, -5, 1e-7, 1e21, true, false, [], {}, [1, '', null, ['5']], { a: { '=b': [null, '"'] } }],
]
const parts = [
  { name: '', size: null, data: null },
  { name: '=1', size: 1e-7, data: '5' },
  { name: "'a\n", size: -1e21, data: [''] },
]

/** For each field the values that it may have. Each also has none. */
const candidates: Readonly<globalThis.Record<string, readonly unknown[]>> = {
  string: texts,
  text: texts,
  integer: [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  numeric: numbers,
  bigint: ['0', '-9223372036854775808', '9223372036854775807'],
  decimal: ['0.000', '-0.001', '123456789012345.678'],
  boolean: [true, false],
  datetime: ['2026-01-01T00:00:00.100Z', '0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
  date: ['0001-01-01', '2024-02-29'],
  time: ['00:00:00', '23:59:59'],
  uuid: ['c0ffee00-0000-4000-8000-000000000000', '00000000-0000-4000-8000-00000000000a'],
  enum: ['red', ' blue', '-1', '=2', ''],
  blob: [
    Buffer.alloc(0),
    Buffer.from('+++', 'base64'),
    Buffer.from([248, 0, 255]),
    Buffer.from('5'),
  ],
  json,
  part: parts,
  strings: [[], [''], ['=1', "'", 'a;b', '"']],
  numbers: [[], numbers],
  values: [[], json],
  parts: [[], parts],
}

const engines = await startBothEngines()

describe.each(engines)('values in CSV of the admin page on %s', (_name, open) => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(App, { database: await open() })
  })
  afterAll(() => app.close())

  const caller = (role: string) => app.as({ sub: role, roles: [role] })
  const send = (record: string, file: string, query = '', role = 'clerk') =>
    caller(role).post(`/admin/api/csv/${record}${query}`, file, {
      headers: { 'content-type': 'text/csv' },
    })
  const stored = async () =>
    JSON.parse(
      JSON.stringify(
        await app
          .get(Database)
          .records(Sample)
          .list({ orderBy: { id: 'asc' } }),
      ),
    ) as globalThis.Record<string, unknown>[]

  it('come back as they were, in changed rows and in new ones', async () => {
    const records = app.get(Database).records(Sample)
    const random = randomNumbers(seed)
    const rows = Array.from({ length: rounds(texts.length + 1) }, (_, index) => ({
      word: texts[random(texts.length)] ?? '',
      ...Object.fromEntries(
        Object.entries(candidates).map(([name, values]) => {
          // Each value once, in turn, and then random ones. `null` is one of them.
          const turn = index <= values.length ? index : random(values.length + 1)
          return [name, values[turn] ?? null]
        }),
      ),
    }))
    await records.insertMany(rows as never)
    const before = await stored()
    const { text } = await caller('clerk').get('/admin/api/csv/samples?orderBy=id')
    const empty = Object.fromEntries(Object.keys(candidates).map((name) => [name, null]))
    await records.updateWhere({}, { ...empty, word: 'changed' })

    expect((await send('samples', text, '?check=true')).body.faults).toEqual([])
    expect((await send('samples', text)).body).toEqual({ count: rows.length })
    expect(await stored()).toEqual(before)

    const fields = [...Object.keys(candidates), 'word'].join(',')
    const { text: withoutKeys } = await caller('clerk').get(
      `/admin/api/csv/samples?orderBy=id&fields=${fields}`,
    )
    await records.deleteWhere({})
    expect((await send('samples', withoutKeys)).body).toEqual({ count: rows.length })
    const withoutId = (row: object) => ({ ...row, id: undefined })
    expect((await stored()).map(withoutId)).toEqual(before.map(withoutId))
  })

  it('reads numbers as spreadsheets write them', async () => {
    await app.get(Database).records(Sample).deleteWhere({})
    expect((await send('samples', 'numeric\n1E+21\n1.5e-07\n+5\n.5\n')).body).toEqual({ count: 4 })
    expect((await stored()).map(({ numeric }) => numeric)).toEqual([1e21, 1.5e-7, 5, 0.5])
    const { faults } = (await send('samples', 'numeric\n1e400\n0x10\n1e\n', '?check=true')).body
    expect(faults.map(({ row }: { row: number }) => row)).toEqual([2, 3, 4])
  })

  it('are 403 for a field, links or rows that only others may write', async () => {
    const database = app.get(Database)
    const tag = await database.records(Tag).create({ name: 'urgent' })
    const bill = await database.records(Bill).create({ name: 'Lamp', price: 3 })
    const refused = [
      [`id,name,price\n${bill.id},Lamp,3\n${bill.id},Lamp,4\n`, 'Row 3: you may not write price'],
      [`id,tagIds\n${bill.id},${tag.id}\n`, 'Row 2: you may not write tagIds'],
      ['name\nBed\n', 'Row 2: you may not create rows'],
    ] as const
    for (const [file, error] of refused) {
      for (const query of ['', '?check=true'])
        expect(await send('bills', file, query)).toMatchObject({
          status: 403,
          body: { error, errors: [{ code: 'forbidden' }] },
        })
      const { text } = await send('bills', file, '?progress=true')
      expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
        ...{ status: 403, error, code: 'FORBIDDEN' },
      })
      expect((await send('bills', file, '?check=true', 'chief')).body.faults).toEqual([])
    }
    const { text } = await caller('clerk').get('/admin/api/csv/bills')
    expect((await send('bills', text)).body).toEqual({ count: 1 })
    expect(await database.records(Bill).list({})).toMatchObject([{ name: 'Lamp', price: 3 }])
  })
})
