/** Cross-field rules, hooks, versions and change events apply to every way of writing, for one row and for many. Bulk writes need few statements. Source: decisions, Records: writes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  AfterCommit,
  type Application,
  BeforeWrite,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  HttpError,
  Module,
  NoAuth,
  Record,
  type Rel,
  type Repository,
  type WriteContext,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { isAfter } from './is-after.js'

const hookCalls: string[] = []

@NoAuth
@Record({ version: true })
class Stay {
  @Field('id') id!: number
  @Field('string', { unique: true, trim: true, lowercase: true }) mail!: string
  @Field('integer') from!: number
  @isAfter
  @Field('integer')
  until!: number
  @Field('string', { readOnly: true, optional: true }) slug?: string
  @Field('integer', { optional: true, nullable: true }) innId?: number | null
  @BelongsTo(() => Inn) inn!: Rel<Inn>
  version!: number

  @BeforeWrite()
  prepare({ before }: WriteContext) {
    this.slug = `${this.mail}-${this.from}`
    hookCalls.push(before === null ? 'created' : 'updated')
  }

  @AfterCommit()
  recordCommit() {
    hookCalls.push('committed')
  }
}

@NoAuth
@Record
class Inn {
  @Field('id') id!: number
  @Field('string', { default: 'inn' }) name!: Generated<string>
  @HasMany(() => Stay) stays!: Rel<Stay[]>
}

@NoAuth
@Record({ version: true, timestamps: true })
class Ware {
  @Field('id') id!: number
  @Field('string', { unique: true, lowercase: true }) sku!: string
  @Field('integer', { min: 0, default: 7 }) stock!: Generated<number>
  @Field('decimal', { precision: 8, scale: 2, default: '1' }) price!: Generated<string>
  @Field('string', { optional: true, nullable: true }) note?: string | null
  @Field('json', { optional: true }) meta?: unknown
  @Field('boolean', { default: true }) active!: Generated<boolean>
  version!: number
  updatedAt!: string
}

@NoAuth
@Record({ softDelete: true })
class Note {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { unique: true }) name!: string
}

@Controller('/stays', { crud: Stay })
@NoAuth
class Stays {}

@Module({ controllers: [Stays], records: [Stay, Inn, Ware, Note] })
class Hotel {}

const engines = await startBothEngines()

type Values = { [name: string]: unknown }

/** @returns the error of a write that must fail with an HTTP status, through any interface */
async function rejection(write: Promise<unknown>): Promise<HttpError> {
  const error: unknown = await write.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof HttpError) return error
  throw new Error(`It was not refused: ${String(error)}`)
}

describe.each(engines)('%s', (engine, open) => {
  let app: Application
  let database: Database
  let stays: Repository<Stay>
  let wares: Repository<Ware>
  beforeAll(async () => {
    app = await bootstrap(Hotel, { listen: false, logger: false, database: await open() })
    database = app.get(Database)
    stays = database.records(Stay)
    wares = database.records(Ware)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    for (const name of ['stay', 'inn', 'ware', 'note'])
      await database.kysely.deleteFrom(name).execute()
    hookCalls.length = 0
  })

  /** Sends a REST request. @throws {HttpError} if the response is an error */
  const rest = async (method: string, path: string, json: Values): Promise<void> => {
    const { status, body } = await app.inject({ method, url: `/stays${path}`, json })
    const { error, errors } = JSON.parse(body) as { error: string; errors: HttpError['errors'] }
    if (status >= 400) throw new HttpError(status, error, { errors })
  }
  const graphql = async (mutation: string): Promise<void> => {
    const json = { query: `mutation { ${mutation} }` }
    const { body } = await app.inject({ method: 'POST', url: '/graphql', json })
    const { errors = [] } = JSON.parse(body) as {
      errors?: { message: string; extensions: { code: string; errors: HttpError['errors'] } }[]
    }
    const [first] = errors
    if (first === undefined) return
    const status = first.extensions.code === 'VALIDATION' ? 400 : 409
    throw new HttpError(status, first.message, { errors: first.extensions.errors })
  }
  const literal = (values: Values): string =>
    `{ ${Object.entries(values)
      .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      .join(', ')} }`

  const creations: { [path: string]: (row: Values) => Promise<unknown> } = {
    create: (row) => stays.create(row as never),
    createMany: (row) => stays.createMany([row as never, { mail: 'x', from: 1, until: 2 }]),
    insertMany: (row) => stays.insertMany([row as never]),
    upsert: (row) => stays.upsert(row, { by: 'mail' }),
    POST: (row) => rest('POST', '', row),
    createStay: (row) => graphql(`createStay(input: ${literal(row)}) { id }`),
    createStays: (row) => graphql(`createStays(input: [${literal(row)}]) { id }`),
    upsertStay: (row) => graphql(`upsertStay(by: mail, input: ${literal(row)}) { id }`),
    'create, nested': (row) => database.records(Inn).create({ stays: { create: [row as never] } }),
    'createMany, nested': (row) =>
      database.records(Inn).createMany([{}, { stays: { create: [row] } }] as never),
    'createInn, nested': (row) =>
      graphql(`createInn(input: { stays: [{ create: [${literal(row)}] }] }) { id }`),
    'updateInn, nested': async (row) => {
      const inn = await database.records(Inn).create({})
      await graphql(
        `updateInn(id: ${inn.id}, input: { stays: [{ create: [${literal(row)}] }] }) { id }`,
      )
    },
  }
  it.each(Object.keys(creations))('%s creates a row with its rules and hooks', async (path) => {
    const createRow = creations[path] as (row: Values) => Promise<unknown>
    const changes: string[] = []
    const stop = database.onChange(({ event }) => changes.push(event))
    await createRow({ mail: ' A@B.C ', from: 1, until: 2 })
    stop()
    expect((await stays.list({ where: { mail: 'a@b.c' } }))[0]).toMatchObject({
      slug: 'a@b.c-1',
      version: 1,
    })
    expect(hookCalls.slice(0, 1)).toStrictEqual(['created'])
    expect(hookCalls).toContain('committed')
    expect(changes).toContain('created')
    const count = await stays.count()
    hookCalls.length = 0
    const error = await rejection(createRow({ mail: 'd', from: 3, until: 2 }))
    expect(error.status).toBe(400)
    expect(error.errors?.[0]?.path).toMatch(/(^|\.)until$/)
    expect(hookCalls).not.toContain('committed')
    expect(await stays.count()).toBe(count)
  })

  const updates: { [path: string]: (id: number, values: Values) => Promise<unknown> } = {
    update: (id, values) => stays.update(id, values),
    updateMany: (id, values) => stays.updateMany([{ id, ...values }]),
    updateWhere: (id, values) => stays.updateWhere({ id }, values),
    upsert: (_id, values) => stays.upsert({ mail: 'A', ...values }, { by: 'mail' }),
    PATCH: (id, values) => rest('PATCH', `/${id}`, values),
    PUT: (id, values) => rest('PUT', `/${id}`, { mail: 'A', from: 1, until: 5, ...values }),
    updateStay: (id, values) =>
      graphql(`updateStay(id: ${id}, input: ${literal(values)}) { version }`),
    updateStays: (id, values) =>
      graphql(`updateStays(input: [${literal({ id, ...values })}]) { version }`),
    upsertStay: (_id, values) =>
      graphql(
        `upsertStay(by: mail, input: ${literal({ mail: 'A', from: 1, until: 5, ...values })}) { version }`,
      ),
  }
  const nested: typeof updates = {
    'update, nested': (id, values) =>
      database.records(Inn).update(1, { stays: { update: [{ id, ...values }] } }),
    'updateInn, nested': (id, values) =>
      graphql(
        `updateInn(id: 1, input: { stays: [{ update: [${literal({ id, ...values })}] }] }) { id }`,
      ),
  }
  Object.assign(updates, nested)
  it.each(Object.keys(updates))('%s updates a row with its rules and hooks', async (path) => {
    const updateRow = updates[path] as (id: number, values: Values) => Promise<unknown>
    await database.records(Inn).create({ id: 1 })
    const { id } = await stays.create({ mail: 'a', from: 1, until: 5, innId: 1 })
    hookCalls.length = 0
    const changes: string[] = []
    const stop = database.onChange(({ event }) => changes.push(event))
    await updateRow(id, { from: 4 })
    stop()
    expect(await stays.find(id)).toMatchObject({ from: 4, until: 5, slug: 'a-4', version: 2 })
    expect(hookCalls).toStrictEqual(['updated', 'committed'])
    expect(changes).toStrictEqual(['updated'])
    const error = await rejection(updateRow(id, { from: 9 }))
    expect(error.status).toBe(400)
    expect(error.errors?.[0]?.path).toMatch(/(^|\.)until$/)
    expect(await stays.find(id)).toMatchObject({ from: 4, version: 2 })
    expect(await stays.count()).toBe(1)
  })

  it('updateMany accepts versions and additions', async () => {
    const [one, two] = await wares.createMany([{ sku: 'a' }, { sku: 'b' }])
    const [a, b] = [one?.id ?? 0, two?.id ?? 0]
    const added = [{ id: a, stock: { add: -1 } } as never, { id: b, stock: 3, version: 1 }]
    expect(await wares.updateMany(added)).toMatchObject([
      { stock: 6, version: 2 },
      { stock: 3, version: 2 },
    ])
    const old = [
      { id: a, stock: 1 },
      { id: b, stock: 1, version: 1 },
    ]
    expect((await rejection(wares.updateMany(old))).status).toBe(409)
    expect((await wares.find(a))?.stock).toBe(6)
  })

  it('upsert compares normalized values, and ignores deleted rows', async () => {
    await wares.upsert({ sku: 'ABC', stock: 1 }, { by: 'sku' })
    await wares.upsert({ sku: 'abC', note: 'n' }, { by: 'sku' })
    expect(await wares.list()).toMatchObject([{ sku: 'abc', stock: 1, note: 'n', version: 2 }])
    expect((await rejection(wares.upsert({ sku: 'abc', stock: -1 }, { by: 'sku' }))).status).toBe(
      400,
    )
    const notes = database.records(Note)
    const { id } = await notes.upsert({ name: 'a' }, { by: 'name' })
    await notes.delete(id)
    expect((await notes.upsert({ name: 'a' }, { by: 'name' })).id).not.toBe(id)
    const option = wares.upsert({ sku: 'a' }, { by: 'sku', where: {} } as never)
    await expect(option).rejects.toThrow(/unknown option "where"/)
  })

  it.each(['alone', 'in transactions', 'with a listener'])(
    '30 concurrent upserts create one row: %s',
    async (how) => {
      const stop = how === 'with a listener' ? database.onChange(() => undefined) : undefined
      const one = (stock: number): Promise<Ware> =>
        how === 'in transactions'
          ? database.transaction((tx) =>
              tx.records(Ware).upsert({ sku: 's', stock }, { by: 'sku' }),
            )
          : wares.upsert({ sku: 'S', stock }, { by: 'sku' })
      const rows = await Promise.all(Array.from({ length: 30 }, (_, stock) => one(stock)))
      stop?.()
      expect(new Set(rows.map(({ id }) => id)).size).toBe(1)
      expect(await wares.list()).toMatchObject([{ version: 30 }])
    },
  )

  describe('bulk writes without hooks', () => {
    const statements: string[] = []
    const onStatement = (message: unknown): void => {
      const { sql } = message as { sql: string }
      // Statements that prepare types, or in development explain plans, run after the work and are not counted.
      if (/\bware\b/.test(sql) && !/\bprepare /.test(sql)) statements.push(sql)
    }
    const counting = async (work: () => Promise<unknown>): Promise<number> => {
      statements.length = 0
      subscribe('filigree:statement', onStatement)
      try {
        await work()
      } finally {
        unsubscribe('filigree:statement', onStatement)
      }
      return statements.length
    }
    const rows = Array.from({ length: 300 }, (_, index) => ({
      sku: `s${index}`,
      stock: index,
      price: `${index}.5`,
      note: index % 3 === 0 ? null : `"${index}\\ {,}`,
      meta: { index, text: 'ä"' },
      active: index % 2 === 0,
    }))

    it('return the same rows as single writes, in order', async () => {
      const together = await wares.createMany(rows)
      expect(together).toHaveLength(300)
      expect(together.map(({ sku }) => sku)).toStrictEqual(rows.map(({ sku }) => sku))
      const last = together[299] as Ware
      expect(last).toBeInstanceOf(Ware)
      const alone = await wares.create({ ...rows[299], sku: 'alone' })
      const { id, createdAt, updatedAt, ...values } = alone as Ware & { createdAt: string }
      expect(last).toMatchObject({ ...values, sku: 's299', version: 1 })
      expect([typeof id, createdAt.length, updatedAt.length]).toStrictEqual(['number', 24, 24])
      const backwards = [...together].reverse()
      const changes = backwards.map(({ id }, index) => ({
        id,
        stock: index,
        note: null,
        price: '2',
      }))
      const changed = await wares.updateMany(changes)
      expect(changed.map(({ id }) => id)).toStrictEqual(backwards.map(({ id }) => id))
      expect(changed[7]).toMatchObject({
        stock: 7,
        price: '2.00',
        version: 2,
        meta: { text: 'ä"' },
      })
      expect((changed[7]?.updatedAt ?? '') >= (together[0]?.updatedAt ?? '')).toBe(true)
      expect(await wares.find(changed[7]?.id ?? 0)).toStrictEqual(changed[7])
      const ids = together.map(({ id }) => id)
      expect(await wares.deleteMany([...ids, ids[0] ?? 0, 999_999])).toBe(300)
      expect(await wares.count()).toBe(1)
    })

    it('advance the sequence past explicit ids', async () => {
      const created = await wares.createMany([
        { id: 5000, sku: 'b' },
        { id: 4000, sku: 'a' },
      ])
      expect(created.map(({ id, price }) => [id, price])).toStrictEqual([
        [5000, '1.00'],
        [4000, '1.00'],
      ])
      expect((await wares.create({ sku: 'c' })).id).toBe(5001)
      const mixed = await wares.createMany([{ sku: 'd' }, { id: 1, sku: 'e' }])
      expect(mixed.map(({ sku }) => sku)).toStrictEqual(['d', 'e'])
      const notes = await database.records(Note).createMany([{ name: 'b' }, { name: 'a' }])
      expect(notes.map(({ name }) => name)).toStrictEqual(['b', 'a'])
      const deleted = await database.records(Note).deleteMany(notes.map(({ id }) => id))
      expect([deleted, await database.records(Note).count()]).toStrictEqual([2, 0])
      expect(await database.records(Note).count({}, { withDeleted: true })).toBe(2)
    })

    it('name the rejected row, and write nothing', async () => {
      const [a, b] = await wares.createMany([{ sku: 'a' }, { sku: 'b' }])
      const duplicate = await rejection(
        wares.createMany([{ sku: 'c' }, { sku: 'A' }, { sku: 'd' }]),
      )
      expect([duplicate.status, duplicate.errors?.[0]?.path]).toStrictEqual([409, '1.sku'])
      const swapped = wares.updateMany([
        { id: a?.id, sku: 'c' },
        { id: b?.id, sku: 'C' },
      ])
      expect((await rejection(swapped)).errors?.[0]?.path).toBe('1.sku')
      const missing = wares.updateMany([
        { id: a?.id, stock: 1 },
        { id: 999_999, stock: 1 },
      ])
      expect((await rejection(missing)).status).toBe(404)
      const inside = database.transaction(async (tx) => {
        const error = await rejection(
          tx.transaction((part) => part.records(Ware).createMany([{ sku: 'e' }, { sku: 'a' }])),
        )
        await tx.records(Ware).create({ sku: 'f' })
        return error.errors?.[0]?.path
      })
      expect(await inside).toBe('1.sku')
      expect((await wares.list()).map(({ sku, stock }) => [sku, stock])).toStrictEqual([
        ['a', 7],
        ['b', 7],
        ['f', 7],
      ])
    })

    it('report every row to listeners', async () => {
      const changes: string[] = []
      const stop = database.onChange(({ event, id }) => changes.push(`${event} ${String(id)}`))
      const created = await wares.createMany([{ sku: 'a' }, { sku: 'b' }])
      const ids = created.map(({ id }) => id)
      await wares.updateMany(ids.map((id) => ({ id, stock: 1 })))
      await wares.deleteMany(ids)
      await wares.upsert({ sku: 'a', stock: 1 }, { by: 'sku' })
      await wares.upsert({ sku: 'a', stock: 2 }, { by: 'sku' })
      stop()
      const events = ['created', 'created', 'updated', 'updated', 'deleted', 'deleted']
      expect(changes.map((text) => text.split(' ')[0])).toStrictEqual([
        ...events,
        'created',
        'updated',
      ])
      expect(changes.slice(0, 6)).toStrictEqual(
        events.map((event, index) => `${event} ${ids[index % 2]}`),
      )
    })

    it('need few statements', async () => {
      await wares.createMany(rows.slice(0, 2))
      await wares.deleteMany((await wares.list()).map(({ id }) => id))
      let ids: number[] = []
      const created = await counting(async () => {
        ids = (await wares.createMany(rows)).map(({ id }) => id)
      })
      const changed = await counting(() => wares.updateMany(ids.map((id) => ({ id, stock: 1 }))))
      const deleted = await counting(() => wares.deleteMany(ids))
      const upserted = await counting(() => wares.upsert({ sku: 'a', stock: 1 }, { by: 'sku' }))
      const skus = Array.from({ length: 50 }, (_, index) => `{ sku: "g${index}" }`).join(' ')
      const byGraphql = await counting(() => graphql(`createWares(input: [${skus}]) { id sku }`))
      ids = (await wares.list({ where: { sku: { startsWith: 'g' } } })).map(({ id }) => id)
      const input = ids.map((id) => `{ id: ${id}, stock: 2 }`).join(' ')
      const changedByGraphql = await counting(() =>
        graphql(`updateWares(input: [${input}]) { stock }`),
      )
      expect(await wares.count({ stock: 2 })).toBe(50)
      const upsertedByGraphql = await counting(() =>
        graphql('upsertWare(by: sku, input: { sku: "A", stock: 3 }) { id }'),
      )
      const [{ id }] = (await wares.list({ where: { sku: 'a' } })) as [Ware]
      const note = 'n'
      const byVersion = await counting(async () => {
        expect(await wares.update(id, { note }, { expectedVersion: 2 })).toMatchObject({ note })
        const where = { stock: { gte: 3 } }
        expect(await wares.update(id, { note }, { where })).toMatchObject({ version: 4 })
        expect(await wares.update(id, { note }, { where: { stock: { gt: 3 } } })).toBeNull()
      })
      expect(byVersion).toBe(3)
      const old = wares.update(id, { note }, { expectedVersion: 2, where: { stock: 3 } })
      expect((await rejection(old)).errors).toMatchObject([{ code: 'version' }])
      expect(await wares.update(999_999, { note }, { expectedVersion: 2 })).toBeNull()
      const deletedByGraphql = await counting(() => graphql(`deleteWares(ids: [${ids.join()}])`))
      // SQLite needs no round trips, so it writes rows one by one with a prepared statement.
      const maxStatements = engine === 'SQLite' ? 303 : 4
      expect(created).toBeLessThanOrEqual(maxStatements)
      expect(changed).toBeLessThanOrEqual(maxStatements)
      expect(deleted).toBeLessThanOrEqual(3)
      expect(upserted).toBeLessThanOrEqual(2)
      expect(byGraphql).toBeLessThanOrEqual(engine === 'SQLite' ? 53 : 5)
      expect(changedByGraphql).toBeLessThanOrEqual(engine === 'SQLite' ? 53 : 5)
      expect(upsertedByGraphql).toBeLessThanOrEqual(2)
      expect(deletedByGraphql).toBeLessThanOrEqual(3)
      expect(await wares.list()).toMatchObject([{ sku: 'a', stock: 3, version: 4 }])
      expect(Math.min(created, changed, deleted, upserted)).toBeGreaterThan(0)
    })
  })
})
