/**
 * Validation errors of writes: values that the client sent are errors of the client (400), others are errors of the program
 * (500 and a log line). Source: decisions, Records: writes.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  GraphQL,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  type Generated,
  type Rel,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

@Record
@NoAuth
class Ticket {
  @Field('id') id!: number
  @Field('string', { maxLength: 5, unique: true }) title!: string
  @Field('string', { oneOf: ['bug', 'wish'] }) kind!: string
  @Field('integer', { min: 1, max: 3, default: 1 }) weight!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) deskId?: number | null
  @BelongsTo(() => Desk) desk?: Rel<Desk>
  @ManyToMany(() => Label) labels?: Rel<Label[]>
}
@Record
@NoAuth
class Label {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
}
@Record
@NoAuth
class Desk {
  @Field('id') id!: number
  @Field('string', { maxLength: 5 }) name!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

/** A body with a field that the record does not have. */
class TicketBody {
  @Field('string') title!: string
  @Field('string', { optional: true }) kind?: string
  @Field('string', { optional: true }) color?: string
  @Field('integer', { default: 9 }) weight!: number
}

@Controller('/crud', { crud: Ticket })
@NoAuth
class Crud {}

type Values = { readonly title: string; readonly kind: string }

@Controller('/')
@NoAuth
class SingleWrites {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  get #tickets() {
    return this.database.records(Ticket)
  }

  @Post('/create') create(body: Values) {
    return this.#tickets.create(body)
  }
  @Post('/renamed') renamed(body: Values) {
    return this.#tickets.create({ title: body.title, knd: body.kind } as never)
  }
  @Post('/forgets') forgets(body: Values) {
    return this.#tickets.create({ title: body.title } as never)
  }
  @Post('/transaction', { transaction: true }) inTransaction(body: Values) {
    return this.#tickets.create({ title: body.title } as never)
  }
  @Post('/query') byQuery(query: Values) {
    return this.#tickets.create({ title: query.title, kind: query.kind })
  }
  @Post('/class', { body: TicketBody }) byClass(body: TicketBody) {
    return this.#tickets.create(Object.assign({}, body) as never)
  }
  @Post('/part') part(body: { ticket: Values }) {
    return this.#tickets.create(body.ticket)
  }
  @Post('/update/<id:int>') update(id: number, body: Partial<Values>) {
    return this.#tickets.update(id, { ...body, weight: 2 })
  }
  @Post('/add/<id:int>') add(id: number) {
    return this.#tickets.update(id, { weight: { add: 100 } })
  }
  @Post('/update-wrong/<id:int>') updateWrong(id: number, body: Partial<Values>) {
    return this.#tickets.update(id, { ...body, weight: 7 })
  }
  @Post('/insert-many') insertMany(body: { rows: Values[] }) {
    return this.#tickets.insertMany(body.rows)
  }
  @Post('/insert-list') insertList(body: Values[]) {
    return this.#tickets.insertMany(body)
  }
  @Post('/insert-wrong') insertWrong(body: Values[]) {
    return this.#tickets.insertMany(body.map(({ title }) => ({ title }) as never))
  }
  @Post('/upsert') upsert(body: Values) {
    return this.#tickets.upsert(body, { by: 'title' })
  }
  @Post('/upsert-wrong') upsertWrong(body: Values) {
    return this.#tickets.upsert({ title: body.title }, { by: 'title' })
  }
  @Post('/update-where') updateWhere(body: { title: string; kind: string }) {
    return this.#tickets.updateWhere({ title: body.title }, { kind: body.kind })
  }
  @Post('/update-where-wrong') updateWhereWrong(body: { title: string }) {
    return this.#tickets.updateWhere({ title: body.title }, { kind: 'none' })
  }
  @Post('/nested') nested(body: { name: string; tickets: object }) {
    return this.database.records(Desk).create(body)
  }
  @Post('/nested-wrong') nestedWrong(body: { name: string; title: string }) {
    return this.database
      .records(Desk)
      .create({ name: body.name, tickets: { create: [{ title: body.title }] } } as never)
  }
}

@Controller('/many')
@NoAuth
class BulkWrites {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  get #tickets() {
    return this.database.records(Ticket)
  }

  @Post('/create') create(body: Values[]) {
    return this.#tickets.createMany(body)
  }
  @Post('/create-part') createPart(body: { rows: Values[] }) {
    return this.#tickets.createMany(body.rows)
  }
  @Post('/create-wrong') createWrong(body: Values[]) {
    return this.#tickets.createMany(body.map(({ title }) => ({ title }) as never))
  }
  @Post('/create-one') createOne(body: Values) {
    return this.#tickets.createMany([{ title: body.title, knd: body.kind } as never])
  }
  @Post('/create-none') createNone(body: Values) {
    return this.#tickets.createMany(body as never)
  }
  @Post('/update') update(body: Partial<Values>[]) {
    return this.#tickets.updateMany(body)
  }
  @Post('/update-part') updatePart(body: { rows: Partial<Values>[] }) {
    return this.#tickets.updateMany(body.rows)
  }
  @Post('/update-wrong') updateWrong(body: { id: number; title: string }[]) {
    return this.#tickets.updateMany(body.map((row) => ({ ...row, weight: 7 })))
  }
  @Post('/update-whom') updateWhom(body: Partial<Values>[]) {
    return this.#tickets.updateMany(body.map(({ title }) => ({ title }) as never))
  }
  @Post('/update-names') updateNames(body: { id: number; title: string }[]) {
    return this.#tickets.updateMany(body.map(({ id, title }) => ({ id, titel: title }) as never))
  }
  @Post('/update-key') updateKey(body: { title: string }) {
    return this.#tickets.updateWhere({ title: body.title }, { id: 2 })
  }
  @Post('/link') link(body: { labels: string[] }) {
    return this.#tickets.link(1, 'labels', body.labels)
  }
  @Post('/link-wrong') linkWrong(body: { label: string }) {
    return this.#tickets.link(1, 'labels', [`label-${body.label}`])
  }
  @Post('/link-none') linkNone(body: { label: string }) {
    return this.#tickets.link(1, 'labels', body.label as never)
  }
  @Post('/unlink-wrong') unlinkWrong(body: { label: string }) {
    return this.#tickets.unlink(1, 'labels', [body.label])
  }
  @Post('/upsert-wrong') upsertWrong(body: { title: string }) {
    return this.#tickets.upsert(
      { kind: 'bug', weight: 1 + body.title.length },
      {
        by: 'title',
      },
    )
  }
  @Post('/nested') nested(body: { name: string; rows: object[] }) {
    return this.database.records(Desk).create({ name: body.name, tickets: body.rows } as never)
  }
  @Post('/delete-wrong') deleteWrong(body: { id: number }) {
    return this.#tickets.deleteMany(body.id as never)
  }
}

const graphql = new GraphQL()
graphql.schema.fromOrm(Ticket).fromOrm(Desk).fromOrm(Label)
const current: { database: Database } = { database: undefined as never }
for (const name of ['keeps', 'forgets'])
  graphql.schema.addMutation(name, {
    type: 'Ticket',
    noAuth: true,
    args: { title: 'String!', kind: 'String' },
    resolve: (_root, args) => {
      const { title, kind } = args as Values
      const values = name === 'keeps' ? { title, kind } : { title }
      return current.database.records(Ticket).create(values as never)
    },
  })
graphql.registerRoute('/graphql')

@Module({
  controllers: [Crud, SingleWrites, BulkWrites],
  records: [Ticket, Desk, Label],
  graphql: [graphql],
})
class Office {}

const long = 'too long for it'

describe.each(await startBothEngines())('%s: validation errors of writes', (_name, open) => {
  let app: Application
  const logged: { message: string; record: string; handler: string; paths: string[] }[] = []

  beforeAll(async () => {
    const silent = (): void => undefined
    const error = ({ err }: { err?: unknown }): void => {
      logged.push(err as (typeof logged)[number])
    }
    app = await bootstrap(Office, {
      database: await open(),
      port: 0,
      host: '127.0.0.1',
      logger: { error: error, warn: silent, info: silent, debug: silent },
    })
    current.database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    logged.length = 0
    const { database } = current
    await database.kysely.deleteFrom('ticket').execute()
    await database.records(Ticket).create({ id: 1, title: 'one', kind: 'bug' })
  })

  const post = async (url: string, json: unknown) => {
    const response = await app.inject({ method: 'POST', url, json: json as object })
    return { status: response.status, error: (response.json() as { error?: string } | null)?.error }
  }

  it.each<[string, string, unknown, string]>([
    ['create', '/create', { title: long, kind: 'bug' }, 'title must have at most 5 characters'],
    [
      'create, a value that is refused',
      '/create',
      { title: 'a', kind: 'x' },
      'kind must be one of bug, wish',
    ],
    ['the query', `/query?title=${long.replaceAll(' ', '+')}&kind=bug`, {}, 'title must have'],
    ['a class', '/class', { title: long, kind: 'bug', weight: 1 }, 'title must have'],
    ['a part of the body', '/part', { ticket: { title: long, kind: 'bug' } }, 'title must have'],
    ['update', '/update/1', { title: long }, 'title must have'],
    [
      'insertMany of a part',
      '/insert-many',
      {
        rows: [
          { title: 'a', kind: 'bug' },
          { title: long, kind: 'bug' },
        ],
      },
      '1.title must have',
    ],
    ['insertMany', '/insert-list', [{ title: long, kind: 'bug' }], '0.title must have'],
    ['upsert', '/upsert', { title: long, kind: 'bug' }, 'title must have'],
    ['updateWhere', '/update-where', { title: 'one', kind: 'x' }, 'kind must be one of'],
    [
      'nested rows',
      '/nested',
      { name: 'd', tickets: { create: [{ title: long, kind: 'bug' }] } },
      'title must have',
    ],
    ['a sum, which depends on the row', '/add/1', {}, 'weight must be'],
    ['crud', '/crud', { title: 'a' }, 'kind is required'],
    ['createMany', '/many/create', [{ title: long, kind: 'bug' }], '0.title must have'],
    [
      'createMany of two',
      '/many/create',
      [
        { title: 'a', kind: 'bug' },
        { title: 'b', kind: 'x' },
      ],
      '1.kind must',
    ],
    [
      'createMany of a part',
      '/many/create-part',
      { rows: [{ title: long, kind: 'bug' }] },
      '0.title must',
    ],
    ['updateMany', '/many/update', [{ id: 1, title: long }], '0.title must have'],
    [
      'updateMany of two',
      '/many/update',
      [
        { id: 1, kind: 'bug' },
        { id: 2, kind: 'x' },
      ],
      '1.kind must',
    ],
    ['updateMany of a part', '/many/update-part', { rows: [{ id: 1, kind: 'x' }] }, '0.kind must'],
    ['link', '/many/link', { labels: ['x'] }, 'labels.0 must be an id'],
  ])('are errors of the client if it sent the value: %s', async (_what, url, json, message) => {
    const { status, error } = await post(url, json)
    expect([status, error]).toEqual([400, expect.stringContaining(message)])
    expect(logged).toEqual([])
  })

  const sent = { title: 'a', kind: 'bug' }
  it.each<[string, string, unknown, string, string[]]>([
    ['create', '/forgets', { title: 'a' }, 'SingleWrites.forgets', ['kind']],
    ['a field that it dropped', '/forgets', sent, 'SingleWrites.forgets', ['kind']],
    ['a transaction', '/transaction', { title: 'a' }, 'SingleWrites.inTransaction', ['kind']],
    ['a field missing in the body', '/create', { title: 'a' }, 'SingleWrites.create', ['kind']],
    [
      'a field that the record does not know',
      '/class',
      { ...sent, color: 'red', weight: 1 },
      'SingleWrites.byClass',
      ['color'],
    ],
    ["a default of the body's class", '/class', sent, 'SingleWrites.byClass', ['weight']],
    ['update', '/update-wrong/1', { title: 'a' }, 'SingleWrites.updateWrong', ['weight']],
    ['insertMany', '/insert-wrong', [{ title: 'a' }], 'SingleWrites.insertWrong', ['0.kind']],
    ['upsert', '/upsert-wrong', { title: 'a' }, 'SingleWrites.upsertWrong', ['kind']],
    [
      'updateWhere',
      '/update-where-wrong',
      { title: 'one' },
      'SingleWrites.updateWhereWrong',
      ['kind'],
    ],
    [
      'nested rows',
      '/nested-wrong',
      { name: 'd', title: 'a' },
      'SingleWrites.nestedWrong',
      ['tickets.create.0.kind'],
    ],
    ['createMany', '/many/create-wrong', [sent], 'BulkWrites.createWrong', ['0.kind']],
    ['createMany of two', '/many/create-wrong', [sent, sent], 'BulkWrites.createWrong', ['0.kind']],
    ['createMany of a name', '/many/create-one', sent, 'BulkWrites.createOne', ['0.kind', '0.knd']],
    ['createMany of no list', '/many/create-none', sent, 'BulkWrites.createNone', ['']],
    [
      'updateMany',
      '/many/update-wrong',
      [{ id: 1, title: 'a' }],
      'BulkWrites.updateWrong',
      ['0.weight'],
    ],
    [
      'updateMany of two',
      '/many/update-wrong',
      [
        { id: 1, title: 'a' },
        { id: 2, title: 'b' },
      ],
      'BulkWrites.updateWrong',
      ['0.weight'],
    ],
    [
      'updateMany without a key',
      '/many/update-whom',
      [{ title: 'a' }],
      'BulkWrites.updateWhom',
      ['0.id'],
    ],
    [
      'updateMany of a name',
      '/many/update-names',
      [{ id: 1, title: 'a' }],
      'BulkWrites.updateNames',
      ['0.titel'],
    ],
    ['updateWhere of a key', '/many/update-key', { title: 'one' }, 'BulkWrites.updateKey', ['id']],
    ['link', '/many/link-wrong', { label: 'x' }, 'BulkWrites.linkWrong', ['labels.0']],
    ['link of no list', '/many/link-none', { label: 'x' }, 'BulkWrites.linkNone', ['labels']],
    ['unlink', '/many/unlink-wrong', { label: 'x' }, 'BulkWrites.unlinkWrong', ['labels.0']],
    [
      'upsert without its unique field',
      '/many/upsert-wrong',
      { title: '' },
      'BulkWrites.upsertWrong',
      ['title'],
    ],
    ['deleteMany of no list', '/many/delete-wrong', { id: 1 }, 'BulkWrites.deleteWrong', ['']],
  ])(
    'are errors of the program if the client did not send the value: %s',
    async (_what, url, json, handler, paths) => {
      expect(await post(url, json)).toEqual({ status: 500, error: 'Internal server error' })
      expect(logged).toMatchObject([{ record: 'Ticket', handler, paths }])
      expect(logged[0]?.message).toContain(handler)
    },
  )

  it('are errors of the program if it nests rows of its own', async () => {
    expect((await post('/many/nested', { name: 'd', rows: [{}] })).status).toBe(500)
    expect(logged).toMatchObject([
      { record: 'Desk', handler: 'BulkWrites.nested', paths: ['tickets'] },
    ])
  })

  it('are errors of the program if it misspells a field', async () => {
    expect((await post('/renamed', sent)).status).toBe(500)
    expect(logged[0]?.paths).toContain('knd')
  })

  it('depend on the arguments in a handwritten mutation', async () => {
    const graphqlErrors = async (query: string) => {
      const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      const { errors } = response.json() as { errors: { message: string }[] }
      return errors.map(({ message }) => message)
    }
    expect(await graphqlErrors(`mutation { keeps(title: "${long}", kind: "bug") { id } }`)).toEqual(
      [expect.stringContaining('title must have')],
    )
    expect(logged).toEqual([])
    expect(await graphqlErrors('mutation { forgets(title: "a") { id } }')).toEqual([
      expect.stringContaining('Mutation.forgets'),
    ])
    expect(logged).toMatchObject([{ record: 'Ticket', handler: 'Mutation.forgets' }])
    expect(await graphqlErrors('mutation { createTicket(input: { title: "a" }) { id } }')).toEqual([
      expect.stringContaining('kind is required'),
    ])
  })
})
