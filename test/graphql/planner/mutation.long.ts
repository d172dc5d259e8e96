import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Field,
  GraphQL,
  HasMany,
  Record,
  type Rel,
  connect,
  type Database,
} from '../../../src/index.js'
import type { Engine } from '../../../src/engines/contract/engine.js'
import { reusing, startBothEngines } from '../../records/both-engines.js'
import { logStatements } from './driver-log.js'
import { engineOf, EngineError } from '../../records/open-database.js'

@Record({ timestamps: true, softDelete: true })
class Lamp {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('integer', { nullable: true, optional: true }) stock?: number | null
}

@Record({ rows: (user) => (user?.sub === 'root' ? true : { owner: user?.sub ?? 'nobody' }) })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string') owner!: string
  @HasMany(() => Page) pages!: Rel<Page[]>
}

@Record({ rows: (user) => ({ note: { owner: user?.sub ?? 'nobody' } }) })
class Page {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') noteId!: number
  @BelongsTo(() => Note) note!: Rel<Note>
}

const engines = await startBothEngines()

describe.each(engines)('a mutation of one record on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const openEmpty = reusing(open)
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await connect(await openEmpty(), {
      records: [Lamp],
      now: () => Date.parse('2100-01-01'),
    })
    await database.sync()
    graphql = new GraphQL({ database })
    graphql.schema.fromOrm(Lamp)
    await database.records(Lamp).create({ name: 'Dawn', price: 1 })
    await database.records(Lamp).create({ name: 'Dusk', price: 2 })
  })
  afterAll(() => database.close())

  const run = async (text: string, variables?: object) =>
    JSON.parse(JSON.stringify(await graphql.execute(text, { ...variables }))) as {
      data: { [name: string]: unknown } | null
      errors?: { path: unknown[]; extensions: { [name: string]: unknown } }[]
    }

  const update =
    'mutation M($id: ID!, $input: LampInput!) { updateLamp(id: $id, input: $input) { id name price stock } }'

  it.each([
    [update, { id: '1', input: { price: 7.5, stock: null } }, 'update'],
    ['mutation { createLamp(input: { name: "Noon", price: 3 }) { id name } }', {}, 'insert'],
    ['mutation { deleteLamp(id: 1) }', {}, 'update'],
  ])('is one statement outside of a transaction: %s', async (text, variables, verb) => {
    const { result, sent } = await logStatements(() => run(text, variables))
    expect(result.errors).toBeUndefined()
    const verbs = sent.map(({ sql }) => sql.trimStart().split(' ')[0]?.toLowerCase())
    expect(verbs.filter((one) => one === 'begin')).toEqual([])
    expect(sent.filter(({ sql }) => sql.includes('"lamp"')).length).toBe(1)
    expect(verbs).toContain(verb)
  })

  it('returns the record as stored, and sets the time of the change', async () => {
    const before = await database.records(Lamp).find(2)
    expect(await run(update, { id: '1', input: { price: 7.5, stock: null } })).toEqual({
      data: { updateLamp: { id: '1', name: 'Dawn', price: 7.5, stock: null } },
    })
    const [dawn, dusk] = await database.records(Lamp).list()
    expect(dawn).toMatchObject({ price: 7.5, updatedAt: '2100-01-01T00:00:00.000Z' })
    expect(dusk).toEqual(before)
  })

  it.each([
    ['a rule', { price: -1, stock: 4 }, 'VALIDATION', 'input.price'],
    ['a value that is taken', { name: 'Dusk', stock: 4 }, 'CONFLICT', 'input.name'],
  ])(
    'writes nothing where %s refuses it, and names the field',
    async (_what, input, code, path) => {
      const before = await database.records(Lamp).list()
      const { data, errors } = await run(update, { id: '1', input })
      expect(data).toEqual({ updateLamp: null })
      expect(errors).toMatchObject([
        { path: ['updateLamp'], extensions: { code, errors: [{ path }] } },
      ])
      expect(await database.records(Lamp).list()).toEqual(before)
    },
  )

  it.each(['9', '0', 'x', '1.5', ''])('finds no record for the id %j', async (id) => {
    const { data, errors } = await run(update, { id, input: { price: 1 } })
    expect(data).toEqual({ updateLamp: null })
    expect(errors).toMatchObject([{ path: ['updateLamp'], extensions: { code: 'NOT_FOUND' } }])
    expect(await run('mutation M($id: ID!) { deleteLamp(id: $id) }', { id })).toEqual({
      data: { deleteLamp: false },
    })
  })

  it('does not find soft-deleted rows', async () => {
    expect(await run('mutation { deleteLamp(id: 1) }')).toEqual({ data: { deleteLamp: true } })
    const { errors } = await run(update, { id: '1', input: { price: 9 } })
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    const [dawn] = await database.records(Lamp).list({ withDeleted: true })
    expect(dawn?.price).toBe(1)
  })

  it('loses no update of concurrent mutations', async () => {
    const inputs = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? { price: n } : { stock: n }))
    const responses = await Promise.all(inputs.map((input) => run(update, { id: '1', input })))
    expect(responses.filter(({ errors }) => errors !== undefined)).toEqual([])
    const dawn = await database.records(Lamp).find(1)
    expect(inputs).toContainEqual({ price: dawn?.price })
    expect(inputs).toContainEqual({ stock: dawn?.stock })
  })

  it('is part of the transaction that runs it', async () => {
    const failed = database.transaction(async () => {
      await run(update, { id: '1', input: { price: 9 } })
      await run('mutation { createLamp(input: { name: "Noon", price: 3 }) { id } }')
      await run('mutation { deleteLamp(id: 2) }')
      throw new Error('taken back')
    })
    await expect(failed).rejects.toThrow('taken back')
    expect(await database.records(Lamp).list()).toMatchObject([
      { name: 'Dawn', price: 1 },
      { name: 'Dusk', price: 2 },
    ])
  })
})

describe.each(engines)("an update restricted to the caller's rows on %s", (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const openEmpty = reusing(open)
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await connect(await openEmpty(), { records: [Note, Page] })
    await database.sync()
    graphql = new GraphQL({ database })
    graphql.schema.fromOrm(Note)
    graphql.schema.fromOrm(Page)
    await database.records(Note).create({ text: 'a', owner: 'ann' })
    await database.records(Note).create({ text: 'b', owner: 'bob' })
    await database.records(Page).create({ text: 'p', noteId: 1 })
    await database.records(Page).create({ text: 'q', noteId: 2 })
  })
  afterAll(() => database.close())

  const update = async (id: number, input: object, sub = 'ann', type = 'Note') => {
    const text = `mutation M($id: ID!, $input: ${type}Input!) { update${type}(id: $id, input: $input) { id text } }`
    const { result, sent } = await logStatements(() =>
      graphql.execute(text, { id: String(id), input }, { user: { sub } }),
    )
    const { data, errors } = result
    const sql = sent.map((one) => one.sql).filter((one) => /^begin|"note"|"page"/.test(one))
    return { row: data?.[`update${type}`], code: errors?.[0]?.extensions.code, sql }
  }
  const notes = () => database.records(Note).list()
  const untouched = [
    { text: 'a', owner: 'ann' },
    { text: 'b', owner: 'bob' },
  ]

  it('reports that the record was written where the database closes before it can be read', async () => {
    const engine: Partial<Engine> & Engine = engineOf(database)
    const run = engine.run.bind(engine)
    engine.run = (statement, values, returns) => {
      if (returns === 'first') throw new EngineError('unavailable', 'disk I/O error')
      return run(statement, values, returns)
    }
    const text =
      'mutation { createNote(input: { text: "c", owner: "ann", pages: [{ text: "r" }] }) { id pages { text } } }'
    const { data, errors } = await graphql.execute(text)
    engine.run = run
    expect(data).toEqual({ createNote: null })
    expect(errors).toMatchObject([
      {
        message: 'The record was written. The database is not available at the moment.',
        extensions: { code: 'DATABASE_UNAVAILABLE' },
      },
    ])
    expect(await notes()).toHaveLength(3)
  })

  it('is one statement that includes the owner condition', async () => {
    const { row, sql } = await update(1, { text: 'mine' })
    expect(row).toEqual({ id: '1', text: 'mine' })
    expect(sql).toHaveLength(1)
    expect(sql[0]).toMatch(/^update .* where .*"owner" = /)
  })

  it('is one statement for a caller who may write all rows', async () => {
    const { row, sql } = await update(2, { text: 'x', owner: 'ann' }, 'root')
    expect([row, sql.length]).toEqual([{ id: '2', text: 'x' }, 1])
  })

  it("returns the same for other callers' rows as for missing rows, and writes nothing", async () => {
    for (const input of [{ text: 'x' }, {}, { owner: 'ann' }]) {
      expect(await update(2, input)).toMatchObject({ row: null, code: 'NOT_FOUND' })
      expect(await update(9, input)).toMatchObject({ row: null, code: 'NOT_FOUND' })
    }
    expect(await notes()).toMatchObject(untouched)
  })

  it("returns the caller's row where no field is named", async () => {
    expect((await update(1, {})).row).toEqual({ id: '1', text: 'a' })
  })

  it('rolls back a change that would give a row away', async () => {
    const response = await update(1, { text: 'x', owner: 'bob' })
    expect(response).toMatchObject({ row: null, code: 'FORBIDDEN' })
    expect(await notes()).toMatchObject(untouched)
    expect((await update(1, { owner: 'ann', text: 'y' })).row).toEqual({ id: '1', text: 'y' })
  })

  it('checks the owner in other tables in the same transaction', async () => {
    expect((await update(1, { text: 'x' }, 'ann', 'Page')).row).toEqual({ id: '1', text: 'x' })
    expect(await update(2, { text: 'y' }, 'ann', 'Page')).toMatchObject({ code: 'NOT_FOUND' })
    // A foreign key may only name rows that the caller sees.
    expect(await update(1, { noteId: 2 }, 'ann', 'Page')).toMatchObject({ code: 'CONFLICT' })
    expect(await database.records(Page).list()).toMatchObject([
      { text: 'x', noteId: 1 },
      { text: 'q', noteId: 2 },
    ])
  })
})
