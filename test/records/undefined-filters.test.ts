/** `undefined` in filters is an error everywhere. `skip` leaves out a condition on purpose. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  BelongsTo,
  Controller,
  Database,
  DeclarationError,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  Record,
  bootstrap,
  connect,
  skip,
} from '../../src/index.js'
import type { Application, Rel, Repository } from '../../src/index.js'
import { operatorsFor } from '../../src/sql/operators.js'
import { startBothEngines } from './both-engines.js'

@Record()
class Org {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket) tickets?: Ticket[]
}

@Record({ search: ['subject'] })
class Ticket {
  @Field('id') id!: number
  @Field('string') subject!: string
  @Field('integer', { nullable: true }) price!: number | null
  @Field('string', { list: true, default: [] }) tags?: string[]
  @Field('json', { optional: true }) meta?: unknown
  @Field('integer', { optional: true }) orgId?: number
  @BelongsTo(() => Org) org?: Rel<Org>
}

/** A record whose rows rule comes from the test. */
@Record({ rows: (user) => rowsResults.get(String(user?.sub)) as never })
class Note {
  @Field('id') id!: number
  @Field('string') owner!: string
}

const rowsResults = new Map<string, unknown>()

class TicketQuery {
  @Field('string', { optional: true }) subject?: string
  @Field('integer', { optional: true }) price?: number
}

@Controller('/tickets')
@NoAuth
class Tickets {
  readonly #tickets: Repository<Ticket>

  constructor(database: Database) {
    this.#tickets = database.records(Ticket)
  }

  @Get('/mine')
  mine(): Promise<Ticket[]> {
    const claims: { org?: number } = {}
    return this.#tickets.list({ where: { orgId: claims.org as number } })
  }

  @Get('/found', { query: TicketQuery })
  found(query: TicketQuery): Promise<Ticket[]> {
    return this.#tickets.list({ where: query })
  }
}

@Controller('/all', { crud: Ticket })
@NoAuth
class AllTickets {}

@Controller('/notes', { crud: Note })
class Notes {}

@Module({ controllers: [Tickets, AllTickets, Notes], records: [Org, Ticket, Note] })
class Desk {}

/** `undefined`, typed as if it were a value. */
const missing = undefined as never

/** Filters with an undefined value, and the path that the error names. */
const filters: [path: string, where: object][] = [
  ['where.orgId', { orgId: missing }],
  ['where.orgId', { subject: 'a', orgId: missing }],
  ['where.price.gte', { price: { gte: missing } }],
  ['where.price.lt', { price: { gte: 1, lt: missing } }],
  ['where.price.isNull', { price: { isNull: missing } }],
  ['where.price.in', { price: { in: missing } }],
  ['where.price.in.1', { price: { in: [1, missing] } }],
  ['where.price.in.0', { price: { in: Array.of<number>(missing, 3) } }],
  ['where.subject.like', { subject: { like: missing } }],
  ['where.subject.contains', { subject: { contains: missing } }],
  ['where.tags.has', { tags: { has: missing } }],
  ['where.meta.path', { meta: { path: missing, eq: 1 } }],
  ['where.meta.path.1', { meta: { path: ['a', missing], eq: 1 } }],
  ['where.meta.gte', { meta: { path: ['a'], gte: missing } }],
  ['where.meta.in.1', { meta: { path: ['a'], in: [1, missing] } }],
  ['where.org', { org: missing }],
  ['where.org.id', { org: { id: missing } }],
  ['where.org.tickets.price.gte', { org: { tickets: { price: { gte: missing } } } }],
  ['where.and', { and: missing }],
  ['where.and.0', { and: [missing] }],
  ['where.or', { or: missing }],
  ['where.or.1', { or: [{ id: 1 }, missing] }],
  ['where.or.1.orgId', { or: [{ id: 1 }, { orgId: missing }] }],
  ['where.not', { not: missing }],
  ['where.not.orgId', { not: { orgId: missing } }],
  ['where.search', { search: missing }],
  ['where.price.between', { price: { between: missing } }],
  ['where.price.between.1', { price: { between: [1, missing] } }],
  ['where.meta.between.0', { meta: { path: ['a'], between: [missing, 1] } }],
  // Each operator of each kind of field.
  ...Object.entries({ price: 'order', subject: 'text', tags: 'list' } as const).flatMap(
    ([field, compares]) =>
      operatorsFor(compares).map((name): [string, object] => [
        `where.${field}.${name}`,
        { [field]: { [name]: missing } },
      ]),
  ),
]

/** Every repository method that takes a filter. */
const methods: [
  name: string,
  call: (tickets: Repository<Ticket>, where: never) => Promise<unknown>,
][] = [
  ['list', (tickets, where) => tickets.list({ where })],
  ['first', (tickets, where) => tickets.first({ where })],
  ['list with relations', (tickets, where) => tickets.list({ where, with: ['org'], limit: 1 })],
  ['list of distinct rows', (tickets, where) => tickets.list({ where, distinct: ['price'] })],
  ['count', (tickets, where) => tickets.count(where)],
  ['counts.upTo', (tickets, where) => tickets.counts.upTo(10, { where })],
  ['counts.roughly', (tickets, where) => tickets.counts.roughly({ where })],
  ['aggregate', (tickets, where) => tickets.aggregate({ where })],
  ['update', (tickets, where) => tickets.update(1, { subject: 'x' }, { where })],
  ['updateWhere', (tickets, where) => tickets.updateWhere(where, { subject: 'x' })],
  ['deleteWhere', (tickets, where) => tickets.deleteWhere(where)],
]

/** Objects without own conditions, which would match every row. */
const hollow: [label: string, make: () => object][] = [
  ['a promise', () => Promise.resolve({ orgId: 1 })],
  ['a map', () => new Map([['orgId', 1]])],
  ['a set', () => new Set([1])],
  ['parameters', () => new URLSearchParams('orgId=1')],
  ['an error', () => new Error('orgId')],
  ['inherited', () => Object.create({ orgId: 1 }) as object],
]

/** The other methods, which take no filter. */
const methodsWithoutFilter = [
  ...['find', 'create', 'createMany', 'insertMany', 'updateMany', 'upsert', 'delete', 'deleteMany'],
  ...['restore', 'link', 'unlink', 'cursorOf'],
]

/** Filters in which `skip` would match more rows than intended. */
const skipped: [path: string, where: object][] = [
  ['where.or', { or: skip }],
  ['where.or.0', { or: [skip] }],
  ['where.or.0.orgId', { or: [{ orgId: skip }] }],
  ['where.or.0.price.gte', { or: [{ price: { gte: skip } }] }],
  ['where.or.0.org.name', { or: [{ org: { name: skip } }] }],
  ['where.not', { not: skip }],
  ['where.not.orgId', { not: { orgId: skip } }],
  ['where.not.org.name', { not: { org: { name: skip } } }],
  ['where.and', { and: skip }],
  ['where.and.0', { and: [skip] }],
  ['where.price.in.1', { price: { in: [1, skip] } }],
  ['where.meta.path.0', { meta: { path: [skip], eq: 1 } }],
  ['where.meta.in.0', { meta: { path: ['a'], in: [skip] } }],
]

const engines = await startBothEngines()

describe.each(engines)('%s: undefined in a filter', (_name, open) => {
  let database: Database
  let application: Application
  let tickets: Repository<Ticket>
  const logLines: { readonly about: unknown; readonly message: string }[] = []
  const log = (about: unknown, message?: string): void => {
    logLines.push({ about, message: message ?? '' })
  }

  beforeAll(async () => {
    database = await connect(await open(), { records: [Org, Ticket, Note] })
    await database.sync()
    application = await bootstrap(Desk, {
      database,
      graphql: {},
      logger: { debug: log, info: log, warn: log, error: log },
    })
    const { id: orgId } = await database.records(Org).create({ name: 'A' })
    tickets = database.records(Ticket)
    await tickets.createMany([
      { subject: 'blue lamp', price: 1, orgId, tags: ['x'], meta: { a: 1 } },
      { subject: 'red lamp', price: 2 },
      { subject: 'chair', price: null },
    ])
    await database.records(Note).createMany([{ owner: 'a' }, { owner: 'b' }])
  })

  afterAll(async () => {
    await application.close()
    await database.close()
  })

  it('is rejected by every method in every position, with its path and both fixes', async () => {
    for (const [method, call] of methods) {
      for (const [path, where] of [...filters, ['where', missing] as const]) {
        const error = await call(tickets, where as never).then(
          () => new Error(`${method} takes undefined at ${path}`),
          (thrown: unknown) => thrown as Error,
        )
        expect({ method, message: error.message }).toEqual({
          method,
          message: expect.stringMatching(
            new RegExp(`^${path.replaceAll('.', '\\.')} is undefined(?=.*\\bskip\\b).*leave`),
          ),
        })
        expect(error).toBeInstanceOf(DeclarationError)
      }
    }
    expect(await tickets.count()).toBe(3)
    expect(await tickets.count({ subject: 'x' })).toBe(0)
  })

  it('so is an object without own conditions, as a filter, a relation or a comparison', async () => {
    const positions: [path: string, where: (value: object) => object][] = [
      ['the filter', (value) => value],
      ['and.0', (value) => ({ and: [value] })],
      ['not', (value) => ({ not: value })],
      ['org', (value) => ({ org: value })],
      ['orgId', (value) => ({ orgId: value })],
      ['org.name', (value) => ({ org: { name: value } })],
    ]
    for (const [method, call] of methods)
      for (const [label, make] of hollow)
        for (const [path, where] of positions) {
          const error = await call(tickets, where(make()) as never).then(
            () => new Error('accepted'),
            (thrown: unknown) => thrown as Error,
          )
          const messagePattern = expect.stringMatching(`^(where\\.?)?(${path})?\\b`)
          expect([method, label, error.message]).toEqual([method, label, messagePattern])
          expect(error.message).toMatch(/conditions of its own|needs a comparison/)
        }
    await expect(tickets.deleteWhere({ orgId: {} })).rejects.toThrow('orgId needs a comparison')
    for (const [, make] of hollow)
      await expect(tickets.aggregate({ having: make() })).rejects.toThrow('having must be')
    expect(await tickets.count({})).toBe(3)
  })

  it('empty members of and and or count towards the limit of conditions', async () => {
    const empty = (count: number): object[] => Array.from({ length: count }, () => ({}))
    for (const many of [
      { or: empty(201) },
      { and: [{ or: empty(150) }, { not: { or: empty(50) } }] },
    ])
      await expect(tickets.list({ where: many as never })).rejects.toThrow('too many conditions')
    expect(await tickets.count({ or: empty(199) } as never)).toBe(3)
    expect(await tickets.count({ or: empty(199).map((_one, id) => ({ id })) } as never)).toBe(3)
  })

  it('flags must be booleans', async () => {
    for (const flag of ['false', 0, null] as never[]) {
      for (const call of [
        () => tickets.list({ withDeleted: flag }),
        () => tickets.count({}, { withDeleted: flag }),
        () => tickets.find(1, { lock: flag }),
      ])
        await expect(call()).rejects.toThrow('Write true or false.')
    }
    await expect(tickets.list({ limit: NaN })).rejects.toThrow('limit must be an integer')
    await expect(tickets.list({ offset: NaN })).rejects.toThrow('offset must be an integer')
  })

  it('is tested with every repository method that takes a filter', () => {
    const names = new Set<string>()
    let type = Object.getPrototypeOf(tickets) as object
    for (; type !== Object.prototype; type = Object.getPrototypeOf(type) as object)
      for (const name of Object.getOwnPropertyNames(type)) names.add(name)
    // These methods are internal. They take filters that are already checked.
    const internalNames = [
      'constructor',
      'on',
      'source',
      'ask',
      'load',
      'cursor',
      'writer',
      'lists',
      'write',
    ]
    const testedNames = methods.map(([name]) => name.split(/[ .]/, 1)[0] ?? '')
    const expectedNames = [...testedNames, ...methodsWithoutFilter, ...internalNames]
    expect([...names].filter((name) => !expectedNames.includes(name))).toEqual([])
  })

  it('is rejected in orders, groups, searches and relation lists', async () => {
    const calls: [path: string, run: () => Promise<unknown>][] = [
      ['orderBy.price', () => tickets.list({ orderBy: { price: missing } })],
      ['orderBy.1', () => tickets.list({ orderBy: [{ id: 'asc' }, missing] })],
      ['orderBy.price.nulls', () => tickets.list({ orderBy: { price: { nulls: missing } } })],
      ['search', () => tickets.list({ search: missing })],
      ['search', () => tickets.count({}, { search: missing })],
      ['having', () => tickets.aggregate({ having: missing })],
      ['having.count', () => tickets.aggregate({ having: { count: missing } })],
      ['having.count.gte', () => tickets.aggregate({ having: { count: { gte: missing } } })],
      ['orderBy.count', () => tickets.aggregate({ orderBy: { count: missing } })],
      ['with.1', () => tickets.list({ with: ['org', missing] })],
      ['with.0', () => tickets.find(1, { with: [missing] })],
    ]
    for (const [path, run] of calls) {
      const error = await run().then(
        () => new Error(`undefined is taken at ${path}`),
        (thrown: unknown) => thrown as Error,
      )
      expect(error.message).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')} is undefined`))
      expect(error).toBeInstanceOf(DeclarationError)
    }
  })

  it('and skip are rejected as field names', async () => {
    const calls = (name: never): [path: string, promise: Promise<unknown>][] => [
      ['distinct.0', tickets.list({ distinct: [name] })],
      ['distinct.1', tickets.count({}, { distinct: ['price', name] })],
      ['groupBy.0', tickets.aggregate({ groupBy: [name] })],
      ['groupBy.0', tickets.aggregate({ groupBy: name === skip ? name : [name] })],
      ['min.1', tickets.aggregate({ min: ['price', name] })],
      ['sum.0', tickets.aggregate({ sum: [name] })],
    ]
    for (const [path, promise] of calls(missing))
      await expect(promise).rejects.toMatchObject({
        name: 'DeclarationError',
        message: expect.stringMatching(
          new RegExp(
            `^${path.replace('.', '\\.')} is undefined, which names no field\\..*\\bskip\\b`,
            's',
          ),
        ),
      })
    for (const [path, promise] of calls(skip as never))
      await expect(promise).rejects.toThrow(`${path} is skip`)
  })

  it('responds with 500 to clients, and the log names the path', async () => {
    logLines.length = 0
    const { status, body } = await application.inject({ url: '/tickets/mine' })
    expect([status, body]).toEqual([
      500,
      '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}',
    ])
    const errors = logLines.map(({ about }) => String((about as { err?: Error }).err?.message))
    expect(errors).toContainEqual(expect.stringMatching(/^where\.orgId is undefined/))
  })

  it('in a rows rule shows no rows, as does skip, and the log names the record', async () => {
    const token = await application.get(Auth).getToken({ sub: 'a' })
    const headers = { authorization: `Bearer ${token}` }
    for (const [rowsResult, path] of [
      [{ owner: undefined }, 'owner is undefined'],
      [{ owner: skip }, 'owner is skip'],
      [{ owner: { in: ['a', undefined] } }, 'owner.in.1 is undefined'],
      [{ or: [{ owner: 'a' }, { owner: undefined }] }, 'or.1.owner is undefined'],
      [{ and: [{ owner: skip }] }, 'and.0.owner is skip'],
    ] as const) {
      rowsResults.set('a', rowsResult)
      logLines.length = 0
      const { body } = await application.inject({ url: '/notes', headers })
      expect(JSON.parse(body)).toEqual([])
      expect(logLines).toContainEqual({
        about: expect.objectContaining({ record: 'Note' }),
        message: expect.stringContaining(`Note: rows returned a filter whose ${path}`),
      })
    }
    rowsResults.set('a', { owner: 'a' })
    const { body } = await application.inject({ url: '/notes', headers })
    expect(JSON.parse(body)).toMatchObject([{ owner: 'a' }])
  })

  it('does not occur in the checked query of a route, which can be passed on directly', async () => {
    const found = async (url: string): Promise<unknown> =>
      JSON.parse((await application.inject({ url })).body)
    expect(await found('/tickets/found')).toHaveLength(3)
    expect(await found('/tickets/found?price=2')).toMatchObject([{ subject: 'red lamp' }])
    expect(await found('/all?price.gte=1&orderBy=-price')).toHaveLength(2)
  })

  it.each([
    ['{ tickets { id } }', {}, 3],
    ['query ($where: TicketWhere) { tickets(where: $where) { id } }', {}, 3],
    ['query ($p: Integer) { tickets(where: { price: { gte: $p } }) { id } }', {}, 3],
    ['query ($p: Integer) { tickets(where: { price: { gte: $p } }) { id } }', { p: 2 }, 1],
    ['query ($t: StringFilter) { tickets(where: { subject: $t }) { id } }', {}, 3],
    ['query ($p: [TicketOrder!]) { tickets(orderBy: $p, distinct: [price]) { id } }', {}, 3],
  ])('does not arise from missing GraphQL variables: %s %j', async (query, variables, count) => {
    const { body } = await application.inject({
      method: 'POST',
      url: '/graphql',
      json: { query, variables },
    })
    expect(JSON.parse(body)).toEqual({ data: { tickets: expect.any(Array) } })
    const { data } = JSON.parse(body) as { data: { tickets: object[] } }
    expect(data.tickets).toHaveLength(count)
  })

  it('can be replaced by skip, as a value and as an operand', async () => {
    const all = { subject: skip, price: { gte: skip, isNull: skip }, search: skip, org: skip }
    expect(await tickets.count(all)).toBe(3)
    expect(await tickets.count({ subject: skip, price: { gte: 2, lt: skip } })).toBe(1)
    expect(await tickets.count({ and: [{ subject: skip }, { price: 1 }] })).toBe(1)
    expect(await tickets.count({ org: { name: skip, id: 1 } })).toBe(1)
    expect(await tickets.count({ meta: { path: ['a'], gte: skip } })).toBe(3)
    expect(await tickets.count({}, { search: skip })).toBe(3)
    expect(await tickets.list({ orderBy: { price: skip, id: 'desc' } })).toMatchObject([
      { id: 3 },
      { id: 2 },
      { id: 1 },
    ])
    expect(await tickets.aggregate({ having: { count: { gte: 9, lt: skip } } })).toEqual([])
    expect(await tickets.aggregate({ having: { count: skip } })).toEqual([{ count: 3 }])
    expect(await tickets.updateWhere({ price: 2, subject: skip }, { tags: ['y'] })).toBe(1)
  })

  it('cannot be replaced by skip in or, not and lists', async () => {
    for (const [path, where] of [...skipped, ['where', skip] as const]) {
      const error = await tickets.count(where as never).then(
        () => new Error(`skip is taken at ${path}`),
        (thrown: unknown) => thrown as Error,
      )
      expect(error.message).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')} is skip`))
      expect(error).toBeInstanceOf(DeclarationError)
    }
  })
})
