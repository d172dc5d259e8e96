/** Copies of arrays, enums and every other kind between engines, and the rows that a comparison names. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Database } from '../../src/index.js'
import { compareDatabases, copyDatabase } from '../../src/records/copy/copy-database.js'
import type { Class } from '../public-types.js'
import { internalsOf } from './open-database.js'
import { startPostgres } from './postgres-server.js'
import { readSql, runSql } from './run-sql.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-differences-'))
const server = await startPostgres()
const opened: Database[] = []

afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()))
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

type EngineName = 'sqlite' | 'postgres'
let files = 0
async function open(engine: EngineName, record: Class): Promise<Database> {
  const url =
    engine === 'sqlite' ? `sqlite:${join(folder, `${++files}.db`)}` : await server.createDatabase()
  const database = await connect(url, { records: [record] })
  await database.sync()
  opened.push(database)
  return database
}
const sidesOf = (source: Database, target: Database) => ({
  source: internalsOf(source),
  target: internalsOf(target),
})
const copy = async (source: Database, target: Database): Promise<void> => {
  const { tables } = await copyDatabase(sidesOf(source, target))
  expect(tables.filter(({ isEqual }) => !isEqual)).toEqual([])
}
const compare = async (source: Database, target: Database) => {
  const { tables } = await compareDatabases(sidesOf(source, target))
  return tables.flatMap(({ differences }) => differences)
}

const states = ['new', "it's late", 'paid "x"'] as const

@Record({ key: ['shop', 'number'] })
class Sample {
  @Field('integer') shop!: number
  @Field('string') number!: string
  @Field('enum', { oneOf: states, type: 'sample_state' }) state!: string
  @Field('enum', { oneOf: states, list: true, type: 'sample_state[]' }) states!: string[]
  @Field('string', { list: true, type: 'text[]' }) words!: string[]
  @Field('integer', { list: true, type: 'int4[]', nullable: true }) sizes!: number[] | null
  @Field('bigint', { list: true, type: 'int8[]' }) codes!: string[]
  @Field('numeric', { list: true, type: 'float8[]' }) ratios!: number[]
  @Field('decimal', { list: true, scale: 2, precision: 10, type: 'numeric(10,2)[]' })
  prices!: string[]
  @Field('boolean', { list: true, type: 'bool[]' }) flags!: boolean[]
  @Field('uuid', { list: true, type: 'uuid[]' }) ids!: string[]
  @Field('date', { list: true, type: 'date[]' }) days!: string[]
  @Field('string', { list: true }) plain!: string[]
  @Field('bigint') code!: string
  @Field('numeric') ratio!: number
  @Field('decimal', { precision: 30, scale: 6 }) mass!: string
  @Field('boolean') large!: boolean
  @Field('datetime') at!: string
  @Field('date') day!: string
  @Field('time') hour!: string
  @Field('json') data!: unknown
  @Field('blob') image!: Buffer
  @Field('uuid') ref!: string
  @Field('text', { nullable: true }) notes!: string | null
}

const row = {
  shop: 1,
  number: 'a, "b"',
  state: "it's late",
  states: [...states],
  words: ['', 'NULL', 'a,b', '{c}', '"d"', '\\e', ' f ', 'ä €\n𝒳'],
  sizes: [1, -2147483648],
  codes: ['9223372036854775807', '-1'],
  ratios: [0.1 + 0.2, 1e21, -1e-7, 5],
  prices: ['9.50', '-0.01'],
  flags: [true, false],
  ids: ['0190a0b4-1111-7222-8333-444455556666'],
  days: ['2026-11-20'],
  plain: ['a', 'b'],
  code: '-9223372036854775808',
  ratio: 1e-7,
  mass: '-0.000001',
  large: true,
  at: '2026-11-20T10:00:00.123Z',
  day: '2026-11-20',
  hour: '10:30:00',
  data: { b: [1.5, null], a: 'ä' },
  image: Buffer.from([0, 255]),
  ref: '0190a0b4-1111-7222-8333-444455556666',
  notes: null,
}
const empty = {
  ...{ states: [], words: [], sizes: null, codes: [], ratios: [], prices: [], flags: [], ids: [] },
  ...{ days: [], plain: [] },
}
const rows = [
  row,
  { ...row, ...empty, number: 'é', mass: '0.000002' },
  ...Array.from({ length: 1100 }, (_, index) => ({ ...row, shop: 2, number: `number ${index}` })),
]

const otherMass = `(select max(mass) from sample where shop = 1)`

/** A new value of each column, as SQL of both engines. */
const changes: Readonly<
  Partial<Record<keyof Sample, readonly [sqlite: string, postgres: string]>>
> = {
  state: ["'new'", "'new'"],
  states: [`'["new"]'`, "'{new}'"],
  words: [`'["x"]'`, "'{x}'"],
  sizes: ['null', 'null'],
  codes: [`'["9223372036854775806","-1"]'`, "'{9223372036854775806,-1}'"],
  ratios: [`'[0.3]'`, "'{0.3}'"],
  prices: [`'["9.51"]'`, "'{9.51}'"],
  flags: [`'[true]'`, "'{t}'"],
  ids: [`'[]'`, "'{}'"],
  days: [`'["2026-11-21"]'`, "'{2026-11-21}'"],
  plain: [`'["b","a"]'`, `'["b","a"]'`],
  code: ['-9223372036854775807', '-9223372036854775807'],
  ratio: ['1.1e-7', '1.1e-7'],
  mass: [otherMass, otherMass],
  large: ['0', 'false'],
  at: ["'2026-11-20T10:00:00.124Z'", "'2026-11-20T10:00:00.124Z'"],
  day: ["'2026-11-21'", "'2026-11-21'"],
  hour: ["'10:30:01'", "'10:30:01'"],
  data: [`'{"b":[1.5,0],"a":"ä"}'`, `'{"b":[1.5,0],"a":"ä"}'`],
  image: ["x'00fe'", "'\\x00fe'"],
  ref: ["'0190a0b4-1111-7222-8333-444455556667'", "'0190a0b4-1111-7222-8333-444455556667'"],
  notes: ["''", "''"],
}

describe.each(['sqlite', 'postgres'] as const)('a copy from %s', (engine) => {
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite'

  it('has the same arrays, enums and values of every kind, and names each changed cell', async () => {
    const [source, target, back] = [
      await open(engine, Sample),
      await open(other, Sample),
      await open(engine, Sample),
    ]
    await source.records(Sample).insertMany(rows)
    await copy(source, target)
    await copy(target, back)
    const options = { orderBy: ['shop' as const, 'number' as const], limit: 100 }
    const listed = await source.records(Sample).list(options)
    expect(await target.records(Sample).list(options)).toEqual(listed)
    expect(await back.records(Sample).list(options)).toEqual(listed)
    expect(listed.find(({ number }) => number === 'a, "b"')).toMatchObject({
      ...row,
      image: expect.anything(),
    })
    expect(await compare(source, target)).toEqual([])
    for (const [property, values] of Object.entries(changes)) {
      const column = property
      const value = values[other === 'sqlite' ? 0 : 1]
      const where = `where shop = 2 and number = 'number 77'`
      await runSql(target, `create table saved as select ${column} as value from sample ${where};`)
      await runSql(target, `update sample set ${column} = ${value} ${where};`)
      expect([property, await compare(source, target)]).toEqual([
        property,
        [{ row: '2, number 77', columns: [column], side: 'both' }],
      ])
      await runSql(target, `update sample set ${column} = (select value from saved) ${where};`)
      await runSql(target, 'drop table saved;')
    }
    expect(await compare(source, target)).toEqual([])
  })

  it('names rows that only one database has, and the first ten rows at most', async () => {
    const [source, target] = [await open(engine, Sample), await open(other, Sample)]
    await source.records(Sample).insertMany(rows)
    await copy(source, target)
    await runSql(target, `update sample set number = 'é 2' where number = 'é';`)
    expect(await compare(source, target)).toEqual([
      { row: '1, é', columns: [], side: 'source' },
      { row: '1, é 2', columns: [], side: 'target' },
    ])
    await runSql(target, `update sample set day = '2000-01-01', notes = 'x';`)
    const differences = await compare(source, target)
    expect(differences).toHaveLength(10)
    expect(differences.find(({ side }) => side === 'both')).toMatchObject({
      columns: ['day', 'notes'],
    })
  })
})

@Record({ key: false, managed: false })
class Entry {
  @Field('string', { nullable: true }) text!: string | null
  @Field('integer') number!: number
}

describe.each(['sqlite', 'postgres'] as const)('a table without a key of %s', (engine) => {
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite'
  const openEmpty = async (name: EngineName): Promise<Database> => {
    const url =
      name === 'sqlite' ? `sqlite:${join(folder, `${++files}.db`)}` : await server.createDatabase()
    const database = await connect(url, { records: [Entry] })
    opened.push(database)
    await runSql(database, 'create table entry (text text, number bigint not null);')
    return database
  }

  it('has the place of each row that differs', async () => {
    const [source, target] = [await openEmpty(engine), await openEmpty(other)]
    await runSql(
      source,
      `insert into entry with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500)
        select 'entry ' || (i % 7), i % 100 from n;
       insert into entry values ('single', 1001), ('single', 1001), (null, 1002);`,
    )
    await copy(source, target)
    await runSql(target, `update entry set text = 'other' where number = 1002;`)
    const [changed] = await compare(source, target)
    const [[place = ''] = []] = await readSql(
      source,
      engine === 'sqlite'
        ? `select 'rowid ' || rowid from entry where number = 1002`
        : `select 'ctid ' || ctid::text from entry where number = 1002`,
    )
    expect(changed).toEqual({ row: place, columns: ['text'], side: 'source' })
    await runSql(
      target,
      `update entry set text = null where number = 1002;
       insert into entry values ('single', 1001);`,
    )
    expect(await compare(source, target)).toMatchObject([{ columns: [], side: 'target' }])
  })
})
