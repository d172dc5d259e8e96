/** Copies of tables with keys of several fields, with schemas, without keys, and of other programs. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { BelongsTo, connect, Field, Record, type Database, type Rel } from '../../src/index.js'
import { compareDatabases, copyDatabase } from '../../src/records/copy/copy-database.js'
import type { Class } from '../public-types.js'
import { internalsOf } from './open-database.js'
import { startPostgres } from './postgres-server.js'
import { readSql, runSql } from './run-sql.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-copied-'))
const server = await startPostgres()
const opened: Database[] = []

afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()))
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

let files = 0
async function open(engine: 'sqlite' | 'postgres', ...records: Class[]): Promise<Database> {
  const url =
    engine === 'sqlite' ? `sqlite:${join(folder, `${++files}.db`)}` : await server.createDatabase()
  const database = await connect(url, { records })
  opened.push(database)
  return database
}

/** Copies to the other engine and back. */
async function copyThere(source: Database, target: Database, back: Database): Promise<void> {
  for (const [from, to] of [
    [source, target],
    [target, back],
  ] as const) {
    const { tables } = await copyDatabase({ source: internalsOf(from), target: internalsOf(to) })
    expect(tables.filter(({ isEqual }) => !isEqual)).toEqual([])
  }
  const { tables } = await compareDatabases({
    source: internalsOf(source),
    target: internalsOf(back),
  })
  expect(tables.every(({ isEqual }) => isEqual)).toBe(true)
}

@Record({ key: ['orderId', 'line'], schema: 'billing' })
class OrderLine {
  @Field('bigint') orderId!: string
  @Field('integer') line!: number
  @Field('string') text!: string
}

it('copies keys of several fields, in another schema', async () => {
  const [source, target, back] = [
    await open('sqlite', OrderLine),
    await open('postgres', OrderLine),
    await open('sqlite', OrderLine),
  ]
  await runSql(target, 'create schema billing;')
  for (const database of [source, target, back]) await database.sync()
  const rows = Array.from({ length: 2500 }, (_, index) => ({
    orderId: `${9007199254740990n + BigInt(index % 50)}`,
    line: index,
    text: `line ${index}`,
  }))
  await source.records(OrderLine).insertMany(rows)
  await copyThere(source, target, back)
  const [row] = await readSql(target, 'select count(*)::int from billing.order_line')
  expect(row).toEqual([2500])
})

@Record({ managed: false })
class Measure {
  @Field('id') id!: number
  @Field('datetime') at!: string
}

it('keeps microseconds where both columns hold them, and else cuts them as records are read', async () => {
  const fine = 'create table measure (id bigint primary key, at timestamptz not null);'
  const [source, target, back] = [
    await open('postgres', Measure),
    await open('sqlite', Measure),
    await open('postgres', Measure),
  ]
  for (const database of [source, back]) await runSql(database, fine)
  await runSql(target, 'create table measure (id integer primary key, at text_timestamp not null);')
  await runSql(
    source,
    `insert into measure values (1, '2026-11-20 10:00:00.123456Z'), (2, '2026-11-20 10:00:00Z'), (3, '2026-11-20 12:00:00.1+02');`,
  )
  await copyThere(source, target, back)
  expect(await readSql(target, 'select at from measure order by id')).toEqual([
    ['2026-11-20T10:00:00.123456Z'],
    ['2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00.100Z'],
  ])
  const coarse = await open('postgres', Measure)
  await runSql(coarse, fine.replace('timestamptz', 'timestamptz(3)'))
  await runSql(target, `update measure set at = '2026-11-20T10:00:00.999999Z' where id = 1;`)
  const { tables } = await copyDatabase({
    source: internalsOf(target),
    target: internalsOf(coarse),
  })
  expect(tables).toMatchObject([{ name: 'measure', isEqual: true }])
  const text = `to_char(at at time zone 'UTC', 'HH24:MI:SS.US')`
  expect(await readSql(coarse, `select ${text} from measure where id = 1`)).toEqual([
    ['10:00:00.999000'],
  ])
})

@Record({ managed: false })
class Entry {
  @Field('id') id!: number
  @Field('string', { nullable: true }) text!: string | null
  @Field('json', { nullable: true }) data!: unknown
}

it('copies tables without a key, and JSON that the server formats', async () => {
  const [source, target, back] = [
    await open('postgres', Entry),
    await open('sqlite', Entry),
    await open('postgres', Entry),
  ]
  for (const database of [source, back])
    await runSql(database, 'create table entry (id bigint, text text, data jsonb);')
  await runSql(target, 'create table entry (id bigint, text text, data text_json);')
  await runSql(
    source,
    `insert into entry select n, 'entry ' || n % 7, case when n % 2 = 0 then '{"b": 1, "aa": [1.50, null]}'::jsonb end from generate_series(1, 2345) n;`,
  )
  await copyThere(source, target, back)
  expect(
    await readSql(back, 'select count(*)::int as rows, count(data)::int as filled from entry'),
  ).toEqual([[2345, 1172]])
})

@Record({ managed: false })
class Pair {
  @Field('id') id!: number
  @Field('string', { nullable: true }) a!: string | null
}

it('reports a table of which it cannot read all rows', async () => {
  const [source, target] = [await open('sqlite', Pair), await open('postgres', Pair)]
  await runSql(source, 'create table pair (id integer, a text, primary key (id, a));')
  await runSql(target, 'create table pair (id bigint, a text);')
  await runSql(
    source,
    `insert into pair with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500) select 1, null from n;`,
  )
  await expect(
    copyDatabase({ source: internalsOf(source), target: internalsOf(target) }),
  ).rejects.toMatchObject({
    problems: [
      {
        code: 'COPY_FAILED',
        message: expect.stringMatching(/^Table pair: 1000 of 1500 rows were read\./),
      },
    ],
  })
})

@Record
class Author {
  @Field('id') id!: number
  @Field('string') name!: string
}
@Record
class Book {
  @Field('id') id!: number
  @Field('integer') authorId!: number
  @BelongsTo(() => Author) author!: Rel<Author>
}

it('names a row that refers to no row, and tables that are not copied', async () => {
  const [source, target] = [
    await open('sqlite', Author, Book),
    await open('postgres', Author, Book),
  ]
  for (const database of [source, target]) await database.sync()
  await runSql(
    source,
    `create table other (id integer primary key);
alter table author add column extra text;
insert into author (id, name) values (1, 'a');
insert into book (id, author_id) values (1, 1);
pragma foreign_keys = off;
insert into book (id, author_id) values (7, 99);
pragma foreign_keys = on;`,
  )
  await expect(
    copyDatabase({ source: internalsOf(source), target: internalsOf(target) }),
  ).rejects.toMatchObject({
    problems: [
      {
        code: 'COPY_FAILED',
        message: 'Table book, row 7, column author_id: it refers to no row of author.',
      },
    ],
  })
  const report = await compareDatabases({
    source: internalsOf(source),
    target: internalsOf(target),
  })
  expect(report.omissions).toEqual([
    'author.extra is not copied, because the target has no such column.',
    'Table other is not copied, because it belongs to no record.',
  ])
})
