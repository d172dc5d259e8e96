import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  type Database,
  DeclarationError,
  Field,
  HasMany,
  Record,
  type RecordOptions,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { readSql, runSql } from './run-sql.js'

@Record()
class Maker {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket, { by: 'makerId' }) tickets!: unknown[]
}

@Record({
  indexes: [
    { fields: ['status', '-createdAt'], where: { active: true, stars: { gte: 2, ne: 5 } } },
    { fields: [{ stars: { direction: 'desc', nulls: 'first' } }, 'title'] },
    { fields: ['title'], like: true },
    { fields: ['title', 'status'] },
    { fields: ['status'], where: { stars: null, title: { in: ["it's", 'b'] } } },
  ],
})
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string') status!: string
  @Field('boolean') active!: boolean
  @Field('integer', { nullable: true }) stars!: number | null
  @Field('datetime') createdAt!: string
  @Field('integer') makerId!: number
  @BelongsTo(() => Maker) maker!: unknown
}

const engines = await startBothEngines()

describe.each(engines)('indexes on %s', (name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Maker, Ticket] })
    await database.sync()
  })
  afterAll(() => database.close())

  const read = async (sql: string) => await readSql(database, sql)

  const definitions = async (): Promise<string[]> => {
    const rows = await read(
      name === 'SQLite'
        ? `select sql from sqlite_schema where type = 'index' and tbl_name = 'ticket' and sql is not null`
        : `select indexdef from pg_indexes where tablename = 'ticket' and schemaname = current_schema()`,
    )
    return rows.map(([sql]) => String(sql).replaceAll('"', '').toLowerCase())
  }

  it('have the order, the condition and the null position that the record declares', async () => {
    const found = await definitions()
    const definitionWith = (words: string): string =>
      found.find((sql) => sql.replace(/.* on \S+ (using \w+ )?/, '').includes(words)) ??
      found.join('\n')
    expect(definitionWith('(status, created_at desc)')).toMatch(
      /where .*active = (1|true).*stars >= 2.* and .*stars <> 5/,
    )
    expect(definitionWith('title, status')).not.toMatch(/ desc| where /)
    expect(definitionWith('(status) where')).toMatch(/stars is null.*it''s/)
    expect(definitionWith('(stars desc, title)')).toMatch(/_nulls_first_/)
  })

  it('for substring search use trigrams if the database has them', async () => {
    const found = (await definitions()).filter((sql) => sql.includes('gin_trgm_ops'))
    const hasTrigrams =
      name === 'PostgreSQL' &&
      (await read(`select 1 from pg_extension where extname = 'pg_trgm'`)).length > 0
    expect(found).toHaveLength(hasTrigrams ? 1 : 0)
    expect(found.join()).toMatch(hasTrigrams ? /lower\(.*gin_trgm_ops/ : /^$/)
  })

  it('of foreign keys include the primary key', async () => {
    expect((await definitions()).join('\n')).toMatch(
      /ticket_maker_id_index on \S+ (using btree )?\(maker_id, id\)/,
    )
  })

  it('are created once', async () => {
    expect(await database.differences()).toStrictEqual([])
  })

  it('replace plain indexes of foreign keys from other programs, which do not block the start', async () => {
    await runSql(
      database,
      `drop index "ticket_maker_id_index";
      create index "ticket_maker_id_index" on "ticket" ("maker_id")`,
    )
    await expect(database.verify()).resolves.toBeUndefined()
    await database.sync()
    expect((await definitions()).join('\n')).toMatch(/\(maker_id, id\)/)
  })
})

describe('indexes of a record', () => {
  const problemsOf = async (indexes: RecordOptions['indexes']): Promise<string[]> => {
    @Record({ ...(indexes && { indexes }) })
    class Odd {
      @Field('id') id!: number
      @Field('string') title!: string
      @Field('integer') size!: number
      @Field('json') data!: unknown
    }
    const error: unknown = await connect('sqlite::memory:', { records: [Odd] }).then(
      (database) => database.close(),
      (thrown: unknown) => thrown,
    )
    return error instanceof DeclarationError
      ? error.problems.map((problem) => Object.values(problem).join(' '))
      : []
  }

  it.each([
    [{ fields: ['titel'] }, /RECORD_INDEX .*no field "titel".*title/],
    [{ fields: ['-data'] }, /RECORD_INDEX .*"data" is a list or JSON value/],
    [{ fields: [] }, /RECORD_INDEX .*no fields/],
    [{ fields: ['size'], like: true }, /RECORD_INDEX .*"like" takes text fields only/],
    [{ fields: ['title'], where: { size: 'x' } }, /RECORD_INDEX .*"eq" of "size"/],
    [{ fields: ['title'], where: { title: { like: 'a%' } } }, /RECORD_INDEX .*"like" of "title"/],
    [{ fields: ['title'], where: { or: [] } }, /RECORD_INDEX .*no field "or"/],
    [{ fields: ['title'], unknown: 1 }, /UNKNOWN_OPTION/],
    [{ fields: [{ size: 'down' }] }, /RECORD_INDEX .*the order of "size" is invalid/],
  ])('are refused: %j', async (index, message) => {
    expect((await problemsOf([index as never])).join('\n')).toMatch(message)
  })
})

@Record({
  softDelete: true,
  indexes: [{ fields: ['desk'], where: { open: true }, unique: true }],
})
class Shift {
  @Field('id') id!: number
  @Field('string') desk!: string
  @Field('boolean') open!: boolean
}

it('a unique index applies only to rows that match its where and are not deleted', async () => {
  await using database = await connect('sqlite::memory:', { records: [Shift] })
  await database.sync()
  expect(await database.differences()).toEqual([])
  const shifts = database.records(Shift)
  await shifts.create({ desk: 'a', open: false })
  await shifts.create({ desk: 'a', open: false })
  const open = await shifts.create({ desk: 'a', open: true })
  await expect(shifts.create({ desk: 'a', open: true })).rejects.toThrow('desk')
  await shifts.delete(open.id)
  await shifts.create({ desk: 'a', open: true })
  expect(await shifts.count()).toBe(3)
})
