/**
 * Who is told of a fault of a write: the client of what it has sent, the log of what the program does. Source: decisions, Records: writes.
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

/** Has a field more than the record. */
class Wish {
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
class Doors {
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
  @Post('/class', { body: Wish }) byClass(body: Wish) {
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
class Many {
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
const held: { database: Database } = { database: undefined as never }
for (const name of ['keeps', 'forgets'])
  graphql.schema.addMutation(name, {
    type: 'Ticket',
    noAuth: true,
    args: { title: 'String!', kind: 'String' },
    resolve: (_root, args) => {
      const { title, kind } = args as Values
      const values = name === 'keeps' ? { title, kind } : { title }
      return held.database.records(Ticket).create(values as never)
    },
  })
graphql.registerRoute('/graphql')

@Module({ controllers: [Crud, Doors, Many], records: [Ticket, Desk, Label], graphql: [graphql] })
class Office {}

const long = 'too long for it'

describe.each(await startBothEngines())('%s: whose fault', (_name, open) => {
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
    held.database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    logged.length = 0
    const { database } = held
    await database.kysely.deleteFrom('ticket').execute()
    await database.records(Ticket).create({ id: 1, title: 'one', kind: 'bug' })
  })

  const post = async (url: string, json: unknown) => {
    const answer = await app.inject({ method: 'POST', url, json: json as object })
    return { status: answer.status, error: (answer.json() as { error?: string } | null)?.error }
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
  ])("is the client's where it sent the value: %s", async (_what, url, json, message) => {
    const { status, error } = await post(url, json)
    expect([status, error]).toEqual([400, expect.stringContaining(message)])
    expect(logged).toEqual([])
  })

  const sent = { title: 'a', kind: 'bug' }
  it.each<[string, string, unknown, string, string[]]>([
    ['create', '/forgets', { title: 'a' }, 'Doors.forgets', ['kind']],
    ['a field that it dropped', '/forgets', sent, 'Doors.forgets', ['kind']],
    ['a transaction', '/transaction', { title: 'a' }, 'Doors.inTransaction', ['kind']],
    ['what the body did not have', '/create', { title: 'a' }, 'Doors.create', ['kind']],
    [
      'a field that the record does not know',
      '/class',
      { ...sent, color: 'red', weight: 1 },
      'Doors.byClass',
      ['color'],
    ],
    ["a default of the body's class", '/class', sent, 'Doors.byClass', ['weight']],
    ['update', '/update-wrong/1', { title: 'a' }, 'Doors.updateWrong', ['weight']],
    ['insertMany', '/insert-wrong', [{ title: 'a' }], 'Doors.insertWrong', ['0.kind']],
    ['upsert', '/upsert-wrong', { title: 'a' }, 'Doors.upsertWrong', ['kind']],
    ['updateWhere', '/update-where-wrong', { title: 'one' }, 'Doors.updateWhereWrong', ['kind']],
    [
      'nested rows',
      '/nested-wrong',
      { name: 'd', title: 'a' },
      'Doors.nestedWrong',
      ['tickets.create.0.kind'],
    ],
    ['createMany', '/many/create-wrong', [sent], 'Many.createWrong', ['0.kind']],
    ['createMany of two', '/many/create-wrong', [sent, sent], 'Many.createWrong', ['0.kind']],
    ['createMany of a name', '/many/create-one', sent, 'Many.createOne', ['0.kind', '0.knd']],
    ['createMany of no list', '/many/create-none', sent, 'Many.createNone', ['']],
    ['updateMany', '/many/update-wrong', [{ id: 1, title: 'a' }], 'Many.updateWrong', ['0.weight']],
    [
      'updateMany of two',
      '/many/update-wrong',
      [
        { id: 1, title: 'a' },
        { id: 2, title: 'b' },
      ],
      'Many.updateWrong',
      ['0.weight'],
    ],
    [
      'updateMany without a key',
      '/many/update-whom',
      [{ title: 'a' }],
      'Many.updateWhom',
      ['0.id'],
    ],
    [
      'updateMany of a name',
      '/many/update-names',
      [{ id: 1, title: 'a' }],
      'Many.updateNames',
      ['0.titel'],
    ],
    ['updateWhere of a key', '/many/update-key', { title: 'one' }, 'Many.updateKey', ['id']],
    ['link', '/many/link-wrong', { label: 'x' }, 'Many.linkWrong', ['labels.0']],
    ['link of no list', '/many/link-none', { label: 'x' }, 'Many.linkNone', ['labels']],
    ['unlink', '/many/unlink-wrong', { label: 'x' }, 'Many.unlinkWrong', ['labels.0']],
    [
      'upsert without what it goes by',
      '/many/upsert-wrong',
      { title: '' },
      'Many.upsertWrong',
      ['title'],
    ],
    ['deleteMany of no list', '/many/delete-wrong', { id: 1 }, 'Many.deleteWrong', ['']],
  ])("is the program's where the client did not: %s", async (_what, url, json, handler, paths) => {
    expect(await post(url, json)).toEqual({ status: 500, error: 'Internal server error' })
    expect(logged).toMatchObject([{ record: 'Ticket', handler, paths }])
    expect(logged[0]?.message).toContain(handler)
  })

  it("is the program's where what it nests is none", async () => {
    expect((await post('/many/nested', { name: 'd', rows: [{}] })).status).toBe(500)
    expect(logged).toMatchObject([{ record: 'Desk', handler: 'Many.nested', paths: ['tickets'] }])
  })

  it("is the program's where a name is wrong", async () => {
    expect((await post('/renamed', sent)).status).toBe(500)
    expect(logged[0]?.paths).toContain('knd')
  })

  it('of a mutation written by hand goes by its arguments', async () => {
    const ask = async (query: string) => {
      const answer = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      const { errors } = answer.json() as { errors: { message: string }[] }
      return errors.map(({ message }) => message)
    }
    expect(await ask(`mutation { keeps(title: "${long}", kind: "bug") { id } }`)).toEqual([
      expect.stringContaining('title must have'),
    ])
    expect(logged).toEqual([])
    expect(await ask('mutation { forgets(title: "a") { id } }')).toEqual([
      expect.stringContaining('Mutation.forgets'),
    ])
    expect(logged).toMatchObject([{ record: 'Ticket', handler: 'Mutation.forgets' }])
    expect(await ask('mutation { createTicket(input: { title: "a" }) { id } }')).toEqual([
      expect.stringContaining('kind is required'),
    ])
  })
})
