/** The tables, differences and plans of records whose key has several fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  Field,
  HasMany,
  ManyToMany,
  Record,
  Secured,
  type Database,
  type Rel,
} from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { readTables } from '../../src/records/model/read-table.js'
import type { Table } from '../../src/records/model/table.js'
import { reportPolicy } from '../../src/records/rights/record-policy.js'
import type { Class } from '../public-types.js'
import { startBothEngines } from './both-engines.js'
import { composites, Parcel, Sale, SaleLine } from './composite-records.js'
import { makeMigration, migrateUp, setRecords, useMigrations } from './migration-helpers.js'
import { engineOf } from './open-database.js'
import { readSql } from './run-sql.js'

const engines = await startBothEngines()

describe.each(engines)('the schema of keys of several fields on %s', (name, open) => {
  const migrations = useMigrations()

  it('needs no change after it was made', async () => {
    const database = await migrations.open(await open(), ...composites)
    await makeMigration(database, 'first', migrations.optionsAt(1))
    await migrateUp(database, migrations.optionsAt(1))
    expect(await makeMigration(database, 'again', migrations.optionsAt(2))).toBeUndefined()
    await database.sync()
    const keys = await readSql(
      database,
      name === 'SQLite'
        ? "select name, pk from pragma_table_info('sale_line') where pk > 0 order by pk"
        : `select a.attname as name, array_position(i.indkey, a.attnum) as pk from pg_index i
           join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
           where i.indrelid = 'sale_line'::regclass and i.indisprimary order by 2`,
    )
    expect(keys.map(([column]) => column)).toEqual(['sale_id', 'line'])
  })

  it('changes when the key and the references change', async () => {
    @Record({ table: 'depot' })
    class OldDepot {
      @Field('id') id!: number
      @Field('string') city!: string
      @Field('integer') number!: number
    }
    @Record({ table: 'van' })
    class OldVan {
      @Field('id') id!: number
    }
    @Record({ table: 'depot', key: ['city', 'number'] })
    class Depot {
      @Field('string') city!: string
      @Field('integer') number!: number
      @HasMany(() => Van) vans!: Rel<Van[]>
    }
    @Record({ table: 'van' })
    class Van {
      @Field('id') id!: number
      @Field('string', { optional: true, nullable: true }) depotCity!: string | null
      @Field('integer', { optional: true, nullable: true }) depotNumber!: number | null
      @BelongsTo(() => Depot) depot!: Rel<Depot | null>
    }
    const database = await migrations.open(await open(), OldDepot, OldVan)
    await makeMigration(database, 'first', migrations.optionsAt(1))
    await migrateUp(database, migrations.optionsAt(1))
    await database.records(OldDepot).create({ city: 'Ulm', number: 3 })
    setRecords(database, Depot, Van)
    await makeMigration(database, 'second', migrations.optionsAt(2))
    await migrateUp(database, migrations.optionsAt(2))
    expect(await makeMigration(database, 'third', migrations.optionsAt(3))).toBeUndefined()
    expect(await database.records(Depot).find({ city: 'Ulm', number: 3 })).not.toBeNull()
    await database.records(Van).create({ depotCity: 'Ulm', depotNumber: 3 })
    await expect(
      database.records(Van).create({ depotCity: 'Ulm', depotNumber: 4 }),
    ).rejects.toMatchObject({ status: 409 })
  })
})

describe.each(engines)('the plans of keys of several fields on %s', (name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: composites })
    await database.sync()
    await database
      .records(Sale)
      .insertMany(
        Array.from({ length: 300 }, (_, index) => ({ id: index + 1, customer: 'x' })) as never,
      )
    await database.records(SaleLine).insertMany(
      Array.from({ length: 30_000 }, (_, index) => ({
        saleId: 1 + (index % 300),
        line: Math.floor(index / 300),
        product: 'p',
      })),
    )
    await database.records(Parcel).insertMany(
      Array.from({ length: 6000 }, (_, index) => ({
        weight: '1',
        saleId: 1 + (index % 300),
        line: Math.floor(index / 300),
      })),
    )
    await readSql(database, 'analyze')
  })
  afterAll(() => database.close())

  /** The plans of the statements on the table that the work runs. */
  async function plansOf(work: () => Promise<unknown>): Promise<string> {
    const statements: { sql: string; values: readonly unknown[] }[] = []
    const engine = engineOf(database) as unknown as {
      run: (statement: { sql: string }, values: readonly unknown[], kind: string) => unknown
    }
    const { run } = engine
    engine.run = function (statement, values, kind) {
      statements.push({ sql: statement.sql, values })
      return run.call(this, statement, values, kind)
    }
    try {
      await work()
    } finally {
      engine.run = run
    }
    const explain = name === 'SQLite' ? 'explain query plan' : 'explain'
    const plans = await Promise.all(
      statements.map(({ sql, values }) => {
        const written = values.reduce<string>((text, value, index) => {
          const literal = literalOf(value)
          return name === 'SQLite'
            ? text.replace('?', literal)
            : text.replaceAll(new RegExp(`\\$${index + 1}(?!\\d)`, 'g'), literal)
        }, sql)
        return readSql(database, `${explain} ${written}`)
      }),
    )
    return JSON.stringify(plans)
  }

  const lines = () => database.records(SaleLine)

  it.each([
    ['one key', () => lines().find({ saleId: 5, line: 6 })],
    ['a change', () => lines().update({ saleId: 5, line: 6 }, { amount: 3 })],
    [
      'a list of keys',
      async () => {
        const where = { saleId: { in: [8, 9] }, line: 1 }
        const parcels = await database.records(Parcel).list({ where, with: ['saleLine'] })
        expect(parcels).toHaveLength(2)
      },
    ],
    ['a join', () => database.records(Sale).list({ where: { id: 5 }, with: ['lines.parcels'] })],
    [
      'a filter through a relation',
      () => database.records(Parcel).list({ where: { saleLine: { saleId: 5, line: 6 } } }),
    ],
    [
      'pages',
      async () => {
        const [row] = await lines().list({ limit: 1, where: { saleId: 7 } })
        await lines().list({ limit: 5, after: lines().cursorOf(row as SaleLine) })
      },
    ],
  ])('use the index of the primary key for %s', async (_what, work) => {
    const plans = await plansOf(work)
    expect(plans).not.toMatch(
      name === 'SQLite' ? /SCAN (?:sale_line|t\d)\b(?! USING)/ : /Seq Scan on \\?"?sale_line\b/,
    )
    expect(plans.length).toBeGreaterThan(10)
  })
})

function literalOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `'{${value.join()}}'`
  if (typeof value === 'string') return `'${value}'`
  const scalar = value as bigint | boolean | number
  return String(scalar)
}

describe('a declaration of a key of several fields', () => {
  function problemsOf(...types: Class[]): string[] {
    const problems = new Problems()
    readTables(types, problems)
    return problems.list.map(({ code, message, remedy }) => `${code} ${message} ${remedy}`)
  }

  it('is checked', () => {
    @Record({ key: ['orderId', 'lien', 'orderId', 'note', 'tags', 'secret', 'price'] as never })
    class Line {
      @Field('integer') orderId!: number
      @Field('integer') line!: number
      @Field('string', { nullable: true }) note!: string | null
      @Field('string', { list: true }) tags!: string[]
      @Field('string', { hidden: true }) secret!: string
      @Field('decimal', { precision: 5, scale: 2 }) price!: string
    }
    expect(problemsOf(Line)).toEqual([
      'RECORD_KEY_PARTS @Record of Line: key names "orderId" twice. Name each field once.',
      'RECORD_KEY_PARTS @Record of Line: key names "lien", which is not a field. Did you mean "line"?',
      'RECORD_KEY_PARTS @Record of Line: key names "note", which may be missing. Remove nullable and optional from note.',
      'RECORD_KEY_PARTS @Record of Line: key names "tags", whose values are lists. Name fields of whole numbers, texts, UUIDs, dates and times.',
      'RECORD_KEY_PARTS @Record of Line: key names "secret", which is hidden, but keys are in addresses and responses. Remove hidden from secret.',
      'RECORD_KEY_PARTS @Record of Line: key names "price", whose values are of kind "decimal". Name fields of whole numbers, texts, UUIDs, dates and times.',
    ])
  })

  it('has no key of its own besides', () => {
    @Record({ key: ['id', 'line'] })
    class Line {
      @Field('id') id!: number
      @Field('integer') line!: number
    }
    @Record({ key: ['id'] })
    class Plain {
      @Field('id') id!: number
    }
    expect(problemsOf(Line)[0]).toContain('id is of kind "id", which is a key of its own')
    expect(problemsOf(Plain)).toEqual([])
  })

  it('fits the foreign keys', () => {
    @Record({ key: ['a', 'b'] })
    class Pair {
      @Field('integer') a!: number
      @Field('string') b!: string
    }
    @Record
    class Holder {
      @Field('id') id!: number
      @Field('integer') pairA!: number
      @Field('integer') pairB!: number
      @BelongsTo(() => Pair) pair!: Rel<Pair>
      @BelongsTo(() => Pair, { by: ['pairA'] }) other!: Rel<Pair>
      @ManyToMany(() => Pair, { to: 'pair_id' }) pairs!: Rel<Pair[]>
    }
    expect(problemsOf(Holder, Pair)).toEqual([
      expect.stringContaining(
        'Holder.pairB is of kind "integer" and cannot hold a key of kind "string"',
      ),
      expect.stringContaining('by names "pairA", but the key that it holds is "a" and "b"'),
      expect.stringContaining('the join table cannot be holder_pair (holder_id, pair_id)'),
    ])
  })

  it('has no secured part', () => {
    @Record({ key: ['bank', 'number'] })
    class Line {
      @Secured('admin') @Field('string') bank!: string
      @Field('integer') number!: number
    }
    const problems = new Problems()
    const [table] = readTables([Line], problems)
    reportPolicy(table as Table, problems)
    expect(problems.list.map(({ message }) => message)).toEqual([
      '@Record of Line: key names "bank", which is secured, but keys are in addresses and responses.',
    ])
  })

  it('has no shard', () => {
    @Record({ key: ['tenantId', 'line'], shardBy: 'tenantId' })
    class Line {
      @Field('integer') tenantId!: number
      @Field('integer') line!: number
    }
    expect(problemsOf(Line)[0]).toContain('shardBy needs a key of one field')
  })
})
