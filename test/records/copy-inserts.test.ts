/** Bulk inserts through COPY on PostgreSQL: which tables use it, the stored values, errors, and statements sent at the same time. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Database } from 'filigree'
import { pgbouncer, startPgBouncer } from './pgbouncer.js'
import { startOwnPostgres, type PostgresServer } from './postgres-server.js'
import { engineOf, frameworkChange, frameworkQuery, frameworkScript } from './open-database.js'

@Record()
class Parcel {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 5000 }) code!: string
  @Field('integer', { min: 0 }) weight!: number
  @Field('string', { optional: true, nullable: true }) note?: string | null
}

@Record()
class Cell {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { optional: true, nullable: true, maxLength: 5000 }) text!: string | null
}

@Record({ version: true })
class Every {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') place!: number
  @Field('numeric') real!: number
  @Field('bigint') wide!: string
  @Field('decimal', { precision: 20, scale: 4 }) exact!: string
  @Field('boolean') flag!: boolean
  @Field('date') day!: string
  @Field('time') hour!: string
  @Field('datetime') at!: string
  @Field('uuid') other!: string
  @Field('enum', { oneOf: ['a\tb', 'c\\d'] }) one!: string
  @Field('blob') bytes!: Uint8Array
  @Field('json') data!: unknown
  @Field('string', { list: true }) words!: string[]
}

const specialTexts = [
  '',
  '\\N',
  '\\.',
  '\\',
  '\\\\',
  '\\n',
  '\n',
  '\r',
  '\r\n',
  '\t',
  '\ta\t',
  '\b\f\v\u0001\u007f',
  '\u0085\u2028\ufeff',
  'é😀',
  'N',
  'null',
  '"',
  "'",
  '{}',
  '\\x41',
  ' ',
]
/** A text with special characters, first alone, then combined with other ones. */
const textOf = (index: number): string => {
  const text = specialTexts[index % specialTexts.length] ?? ''
  return index < specialTexts.length
    ? text
    : `${text}${specialTexts[(index * 7) % specialTexts.length] ?? ''}${text}`
}

describe('bulk inserts on PostgreSQL', () => {
  let server: PostgresServer
  let url: string
  let database: Database
  const script = (sql: string) =>
    Promise.resolve(engineOf(database).run(frameworkScript(sql), [], 'nothing'))
  const parcels = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({
      code: `code ${from + index}`,
      weight: index,
      note: index % 2 === 0 ? null : 'note',
    }))

  beforeAll(async () => {
    server = await startOwnPostgres()
    url = await server.createDatabase()
    database = await connect(url, { records: [Parcel, Cell, Every] })
    await database.sync()
  })
  afterAll(async () => {
    await database.close()
    await server.close()
  })
  beforeEach(() => script('truncate parcel'))

  /** @returns the tables that `work` inserts into, each with COPY or INSERT before its name */
  const insertsDuring = async (work: () => Promise<unknown>): Promise<string[]> => {
    const kinds: string[] = []
    const record = (message: unknown): void => {
      const { kind, table, sql } = message as { kind: string; table: string; sql: string }
      if (kind === 'INSERT') kinds.push(`${sql.startsWith('copy') ? 'COPY' : kind} ${table}`)
    }
    subscribe('filigree:statement', record)
    try {
      await work()
    } finally {
      unsubscribe('filigree:statement', record)
    }
    return kinds
  }

  it('use COPY for many rows, and store the same values as single inserts', async () => {
    const rows = Array.from({ length: 400 }, (_, index) => ({
      place: index,
      real: [0.1, -1e300, 5e-324, 3][index % 4] ?? 0,
      wide: ['9223372036854775807', '-9223372036854775808', '0'][index % 3] ?? '0',
      exact: `${index - 200}.1234`,
      flag: index % 2 === 0,
      day: '2026-11-20',
      hour: '10:30:00',
      at: new Date(1_700_000_000_000 + index).toISOString(),
      other: '0f2a6c1e-8d53-4c2e-9d39-6e9d7a1b2c3d',
      one: ['a\tb', 'c\\d'][index % 2] ?? '',
      bytes: Buffer.from([0, 9, 10, 13, 92, index % 256]),
      data: { [`\\${index}\n`]: [textOf(index), null, { deep: '\u2028' }] },
      words: [textOf(index), textOf(index + 1)],
    }))
    const repository = database.records(Every)
    expect(await insertsDuring(() => repository.insertMany(rows))).toStrictEqual(['COPY every'])
    const copied = await repository.list({ orderBy: { place: 'asc' }, limit: 400 })
    expect(copied).toHaveLength(400)
    const created = []
    for (const row of rows.slice(0, 60)) created.push(await repository.create(row))
    const bare = ({ id, ...values }: Every) => ({ ...values, hasKey: /^[0-9a-f-]{36}$/.test(id) })
    expect(copied.slice(0, 60).map(bare)).toStrictEqual(created.map(bare))
  })

  it('keep every text, and distinguish null from all of them', async () => {
    const cells = database.records(Cell)
    const texts = Array.from({ length: 441 }, (_, index) =>
      index % 9 === 8 ? null : textOf(index),
    )
    await cells.insertMany(
      texts.map((text, index) => ({
        id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        text,
      })),
    )
    const found = await cells.list({ orderBy: { id: 'asc' }, limit: 1000 })
    expect(found.map(({ text }) => text)).toStrictEqual(texts)
  })

  const insertWith = (invalidRow: object) => async (count: number) => {
    const rows = [...parcels(count), invalidRow as Parcel]
    const error: unknown = await database
      .records(Parcel)
      .insertMany(rows)
      .catch((caught: unknown) => caught)
    const { status, message, code, errors } = error as { [name: string]: unknown }
    // The invalid row is the last one, whose number an error may name.
    const text = JSON.stringify({ status, message, code, errors })
    return JSON.parse(text.replaceAll(`"${count}.`, '"last.')) as unknown
  }

  it.each([
    ['a duplicate value', { code: 'code 3', weight: 1 }, 409],
    ['a value that fails a foreign check constraint', { code: 'new', weight: 77_777 }, 400],
    ['a null that a foreign constraint forbids', { code: 'new', weight: 1, note: null }, 400],
    ['a text that is too long for the column', { code: 'x'.repeat(4001), weight: 1 }, 400],
  ])('report %s the same way with COPY and INSERT', async (_what, invalidRow, status) => {
    await script('alter table parcel add constraint parcel_weight_odd check (weight <> 77777)')
    await script('alter table parcel alter code type varchar(4000)')
    const isNull = 'note' in invalidRow
    if (isNull)
      await script(
        'alter table parcel add constraint no_null check (note is not null or weight <> 1)',
      )
    const insert = insertWith(invalidRow)
    const few = await insert(40)
    let many: unknown
    expect(
      await insertsDuring(async () => {
        many = await insert(400)
      }),
    ).toStrictEqual(['COPY parcel'])
    expect(many).toStrictEqual(few)
    expect(many).toMatchObject({ status })
    expect(await database.records(Parcel).count()).toBe(0)
    await script('alter table parcel drop constraint parcel_weight_odd')
    if (isNull) await script('alter table parcel drop constraint no_null')
  })

  it('name a column that must not be null', async () => {
    await script('alter table parcel alter note set not null')
    try {
      const insert = insertWith({ code: 'new', weight: 1, note: null })
      expect(await insert(400)).toStrictEqual(await insert(40))
      expect(await insert(400)).toMatchObject({ status: 400, errors: [{ path: 'note' }] })
    } finally {
      await script('alter table parcel alter note drop not null')
    }
  })

  it('use INSERT while a listener follows, which receives each id', async () => {
    const reportedIds: unknown[] = []
    const stop = database.onChange(({ event, id }) => {
      if (event === 'created') reportedIds.push(id)
    })
    try {
      const kinds = await insertsDuring(() => database.records(Parcel).insertMany(parcels(300)))
      expect(kinds).toStrictEqual(['INSERT parcel'])
    } finally {
      stop()
    }
    const found = await database.records(Parcel).list({ limit: 1000 })
    expect(reportedIds.map(Number).sort((a, b) => a - b)).toStrictEqual(found.map(({ id }) => id))
  })

  it('use INSERT for rows with explicit numeric ids, and for few rows', async () => {
    const repository = database.records(Parcel)
    const rowsWithIds = parcels(300).map((row, index) => ({ ...row, id: 1_000_000 + index }))
    // One statement inserts the rows and advances the sequence past their ids.
    expect(await insertsDuring(() => repository.insertMany(rowsWithIds))).toStrictEqual([
      'INSERT parcel',
    ])
    expect((await repository.create({ code: 'next', weight: 1 })).id).toBeGreaterThan(1_000_299)
    expect(await insertsDuring(() => repository.insertMany(parcels(20, 5000)))).toStrictEqual([
      'INSERT parcel',
    ])
  })

  it.each([
    [
      'a view',
      `alter table cell rename to cell_kept; create view cell as select * from cell_kept`,
      'drop view cell; alter table cell_kept rename to cell',
      '',
    ],
    [
      'a table with rules',
      'create table cell_noted (text text); create rule noted as on insert to cell do also insert into cell_noted values (new.text)',
      'drop rule noted on cell; drop table cell_noted',
      '',
    ],
    [
      'a table with row level security that applies to its owner',
      'alter table cell enable row level security; alter table cell force row level security; create policy all_cells on cell using (true)',
      'drop policy all_cells on cell; alter table cell no force row level security; alter table cell disable row level security',
      'cell_writer',
    ],
  ])('use INSERT for %s', async (_what, make, undo, role) => {
    await script('delete from cell')
    await script(make)
    const isOther = role !== ''
    if (isOther)
      await script(`create role ${role} login password 'p'; grant all on cell to ${role}`)
    const address = new URL(url)
    if (isOther) Object.assign(address, { username: role, password: 'p' })
    const opened = isOther ? await connect(address.href, { records: [Cell] }) : database
    try {
      const rows = Array.from({ length: 300 }, (_, index) => ({ text: `text ${index}` }))
      const kinds = await insertsDuring(() => opened.records(Cell).insertMany(rows))
      expect(kinds).toStrictEqual(['INSERT cell'])
      expect(await opened.records(Cell).count()).toBe(300)
    } finally {
      if (opened !== database) await opened.close()
      await script(undo)
      if (isOther) await script(`drop owned by ${role}; drop role ${role}`)
    }
  })

  it('use COPY for a partitioned table', async () => {
    await script(`alter table cell rename to cell_kept;
      create table cell (like cell_kept) partition by hash (id);
      create table cell_0 partition of cell for values with (modulus 2, remainder 0);
      create table cell_1 partition of cell for values with (modulus 2, remainder 1)`)
    try {
      const rows = Array.from({ length: 300 }, () => ({ text: 'part' }))
      const kinds = await insertsDuring(() => database.records(Cell).insertMany(rows))
      expect(kinds).toStrictEqual(['COPY cell'])
      expect(await database.records(Cell).count({ text: 'part' })).toBe(300)
    } finally {
      await script('drop table cell; alter table cell_kept rename to cell')
    }
  })

  it('use INSERT on servers other than PostgreSQL', async () => {
    await script(`create function public.version() returns text language sql
      as $$ select 'CockroachDB CCL v25.2.0' $$`)
    const path = encodeURIComponent('-c search_path=public,pg_catalog')
    const other = await connect(`${url}?options=${path}&listen=notify&locks=advisory`, {
      records: [Parcel],
    })
    try {
      const kinds = await insertsDuring(() => other.records(Parcel).insertMany(parcels(300)))
      expect(kinds).toStrictEqual(['INSERT parcel'])
    } finally {
      await other.close()
      await script('drop function public.version()')
    }
  })

  it('run in order with other statements of their connection, each with its own result', async () => {
    const repository = database.records(Parcel)
    const results = await database.transaction(async () => {
      const before = await repository.create({ code: 'before', weight: 1 })
      const results = await Promise.all([
        repository.find(before.id),
        repository.insertMany(parcels(2500)),
        repository.count(),
        repository.insertMany(parcels(2500, 10_000)),
        repository.create({ code: 'beside', weight: 2 }),
        repository.insertMany(parcels(300, 20_000)),
        repository.find(before.id),
        repository.list({ where: { code: 'beside' } }),
      ])
      return [...results, await repository.count()]
    })
    expect(results[0]).toMatchObject({ code: 'before' })
    expect([results[1], results[3], results[5]]).toStrictEqual([2500, 2500, 300])
    expect(results[4]).toMatchObject({ code: 'beside' })
    expect(results[6]).toMatchObject({ code: 'before' })
    expect(results[8]).toBe(5302)
    expect(await repository.count()).toBe(5302)
  })

  it('that fail abort the transaction part, and later statements still get results', async () => {
    const repository = database.records(Parcel)
    const engine = engineOf(database)
    const transaction = await engine.begin({})
    const copy = frameworkChange('unknown', 'copy parcel (code, weight, note) from stdin', {
      takesRows: true,
    })
    const nowhere = { ...copy, sql: 'copy no_such_table from stdin' }
    const one = frameworkQuery('select 1')
    const outcomes = async (work: readonly unknown[]): Promise<string[]> =>
      (await Promise.allSettled(work.map((result) => Promise.resolve(result)))).map(
        ({ status }) => status,
      )
    const good = 'a\t1\t\\N\n'
    expect(
      await outcomes([
        transaction.run(copy, [good], 'count'),
        transaction.run(one, [], 'rows'),
        transaction.run(copy, ['b\t2\tx\nc\t3\ty\n'], 'count'),
        transaction.run(one, [], 'rows'),
      ]),
    ).toStrictEqual(Array(4).fill('fulfilled'))
    expect(await transaction.run(copy, ['d\t4\tx\ne\t5\ty\n'], 'count')).toBe(2)
    // The server rejects one statement before it reads rows, the other one while it reads them.
    for (const [statement, rows] of [
      [nowhere, good],
      [copy, 'z\t1\t\\N\n'.repeat(50_000)],
    ] as const) {
      await transaction.run(frameworkScript('savepoint part'), [], 'nothing')
      expect(
        await outcomes([
          transaction.run(one, [], 'rows'),
          transaction.run(statement, [rows], 'count'),
          transaction.run(one, [], 'rows'),
          transaction.run(copy, [good], 'count'),
          transaction.run(frameworkScript('rollback to savepoint part'), [], 'nothing'),
          transaction.run(one, [], 'rows'),
        ]),
      ).toStrictEqual(['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled'])
    }
    await transaction.commit()
    expect(await repository.count()).toBe(5)
    const countAfterRollback = database.transaction(async (tx) => {
      await repository.insertMany(parcels(300))
      await tx
        .transaction(() => repository.insertMany(parcels(300)))
        .catch((error: unknown) => {
          expect(error).toMatchObject({ status: 409 })
        })
      return repository.count()
    })
    expect(await countAfterRollback).toBe(305)
  })

  it('fail with 503 when the connection ends, store nothing, and work again afterwards', async () => {
    const repository = database.records(Parcel)
    let isKilled = false
    const inserting = repository.insertMany(
      (async function* () {
        for (let from = 0; from < 60_000; from += 3000) {
          yield* parcels(3000, from)
          isKilled = true
          await script(
            `select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
          )
        }
      })(),
    )
    await expect(inserting).rejects.toMatchObject({ status: 503 })
    expect(isKilled).toBe(true)
    expect(await repository.insertMany(parcels(300))).toBe(300)
    expect(await repository.count()).toBe(300)
  })

  // Skipped where Debian's package pgbouncer is not installed.
  ;(pgbouncer === undefined ? it.skip : it)('use COPY through PgBouncer', async () => {
    const pooler = await startPgBouncer(server.url)
    const pooled = await connect(pooler.through(url), { records: [Parcel] })
    try {
      const kinds = await insertsDuring(() =>
        Promise.all([
          pooled.records(Parcel).insertMany(parcels(5000)),
          pooled.records(Parcel).insertMany(parcels(5000, 5000)),
          pooled.records(Parcel).count(),
        ]),
      )
      expect(new Set(kinds)).toStrictEqual(new Set(['COPY parcel']))
      await expect(pooled.records(Parcel).insertMany(parcels(300))).rejects.toMatchObject({
        status: 409,
      })
      expect(await pooled.records(Parcel).count()).toBe(10_000)
    } finally {
      await pooled.close()
      await pooler.close()
    }
  })
})
