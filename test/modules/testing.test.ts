/** `filigree/testing`, as tests of applications use it, on each engine. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  Database,
  events,
  Field,
  Get,
  GraphQL,
  HasMany,
  BelongsTo,
  Module,
  NoAuth,
  pglite,
  Post,
  Record,
  reply,
  Secured,
  type Rel,
  type Session,
  type UploadedFile,
} from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { throttle, Throttle } from 'filigree/throttle'
import { waitUntil } from '../wait-until.js'

@Record
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

@Record
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { optional: true }) teamId?: number
  @BelongsTo(() => Team) team!: Rel<Team>
}

class Mailer {
  sent: string[] = []
  send(to: string): void {
    this.sent.push(to)
  }
}

class NewTicket {
  @Field('string') title!: string
}

@Controller('/')
class Desk {
  static inject = [Mailer, Auth, Database]
  constructor(
    private readonly mailer: Mailer,
    private readonly auth: Auth,
    private readonly database: Database,
  ) {}

  @Post('/tickets', { body: NewTicket }) async add(body: NewTicket, user: { sub?: string } | null) {
    this.mailer.send(String(user?.sub))
    const { id, title } = await this.database.records(Ticket).create({ title: body.title })
    return reply({ id, title, by: user?.sub ?? null }, 201)
  }

  @Get('/titles') async titles(query: unknown) {
    const rows = await this.database.records(Ticket).list({ limit: 100 })
    return { titles: rows.map(({ title }) => title), query }
  }

  @Get('/agents') @Secured('agent') agents(): string {
    return 'agents'
  }

  @Get('/rare') @Throttle('1/m') rare(): string {
    return 'rare'
  }

  @Get('/visits') visits(session: Session): { visits: number } {
    const visits = Number(session['visits'] ?? 0) + 1
    session['visits'] = visits
    return { visits }
  }

  @Post('/photos') @NoAuth async photo(body: unknown, files: { photo: UploadedFile }) {
    const { name, size, type } = files.photo
    return { name, size, type, body, text: (await files.photo.bytes()).toString() }
  }

  @Get('/live') live() {
    return events([{ data: { n: 1 }, id: 7 }, 'two', { data: 'a\nb', event: 'last' }])
  }

  @Post('/login') @NoAuth async login() {
    return reply({ ok: true }).freshToken(await this.auth.getToken({ sub: '9' }))
  }
}

@Module({
  controllers: [Desk],
  records: [Team, Ticket],
  providers: [Mailer],
  imports: [throttle({ limit: '1000/m' })],
})
class DeskModule {}

const engines = [
  ['SQLite', {}],
  ['PGlite', { database: pglite() }],
] as const

describe.each(engines)('testApplication on %s', (name, options) => {
  let desk: TestApplication
  const isOwn = name === 'SQLite'
  const reset = (): Promise<void> => desk.reset(isOwn ? {} : { emptyTables: true })

  beforeAll(async () => {
    desk = await testApplication(DeskModule, { ...options, auth: { cookie: true } })
  })
  afterAll(() => desk.close())

  it('has callers with tokens, without, and with the static key', async () => {
    const ann = desk.as({ sub: '7', roles: ['agent'] })
    expect((await ann.get('/agents')).text).toBe('agents')
    expect((await desk.as({ sub: '8' }).get('/agents')).status).toBe(403)
    expect((await desk.anonymous.get('/agents')).status).toBe(401)
    expect((await desk.operator.get('/agents')).status).toBe(200)
  })

  it('sends bodies, queries, headers and files', async () => {
    await reset()
    const ann = desk.as({ sub: '7' })
    const created = await ann.post('/tickets', { title: 'x' })
    expect([created.status, created.body]).toEqual([201, { id: 1, title: 'x', by: '7' }])
    const listed = await ann.get('/titles', { query: { a: 1, b: ['x', 'y'], c: undefined } })
    expect(listed.body).toEqual({ titles: ['x'], query: { a: '1', b: ['x', 'y'] } })
    const photo = await desk.anonymous.post(
      '/photos',
      { note: 'n' },
      { files: { photo: new File(['abc'], 'a.txt', { type: 'text/plain' }) } },
    )
    expect(photo.body).toEqual({
      name: 'a.txt',
      size: 3,
      type: 'text/plain',
      body: { note: 'n' },
      text: 'abc',
    })
    await expect(ann.get('/titles', { header: {} } as never)).rejects.toThrow(
      'unknown option "header"',
    )
  })

  it('stores the cookies of each caller', async () => {
    const [ann, bob] = [desk.as({ sub: '7' }), desk.as({ sub: '8' })]
    expect((await ann.get('/visits')).body).toEqual({ visits: 1 })
    expect((await ann.get('/visits')).body).toEqual({ visits: 2 })
    expect((await bob.get('/visits')).body).toEqual({ visits: 1 })
    const visitor = desk.as({})
    visitor.forget()
    await desk.anonymous.post('/login')
    // A page of the application itself may write with the cookie.
    const created = await desk.anonymous.post('/tickets', { title: 'by cookie' })
    expect(created.body.by).toBe('9')
    desk.anonymous.forget()
    expect((await desk.anonymous.post('/tickets', { title: 'no' })).status).toBe(401)
  })

  it('queries GraphQL and follows subscriptions', async () => {
    await reset()
    const ann = desk.as({ sub: '7' })
    const text =
      'mutation ($title: String!) { createTicket(input: { title: $title }) { id title } }'
    const { data, errors } = await ann.graphql(text, { title: 'g' })
    expect([data, errors]).toEqual([{ createTicket: { id: '1', title: 'g' } }, undefined])
    expect((await desk.anonymous.graphql(text, { title: 'g' })).errors?.[0].extensions.code).toBe(
      'UNAUTHENTICATED',
    )
    const subscription = ann.subscribe('subscription { ticketChanged { event id } }')
    const first = subscription.next()
    const received = { yet: false }
    void first.then(() => (received.yet = true))
    // The subscription is open once the first of these changes arrives.
    await waitUntil(async () => {
      if (!received.yet) await ann.graphql(text, { title: 't' })
      return received.yet
    })
    expect((await first).value?.data.ticketChanged.event).toBe('created')
    await subscription.return()
  })

  it('reads event streams', async () => {
    const got: unknown[] = []
    for await (const event of desk.anonymous.events('/live')) got.push(event)
    expect(got).toEqual([
      { event: 'message', data: { n: 1 }, id: '7' },
      { event: 'message', data: 'two', id: '7' },
      { event: 'last', data: 'a\nb', id: '7' },
    ])
    await expect(desk.anonymous.events('/titles').next()).rejects.toThrow('answered 200')
  })

  it('counts no look-ups of tables of the framework', async () => {
    const script = 'create table if not exists filigree_test_notes (id integer)'
    const ensure = () => desk.get(Database).ensureTable('filigree_test_notes', script)
    await ensure()
    await reset()
    await ensure()
    expect(desk.statements).toEqual([])
  })

  it('returns logs and sent mails', async () => {
    await reset()
    await desk.records(Ticket).create({ title: 'x' })
    await desk.anonymous.get('/titles')
    expect(desk.statements.map(({ kind, table }) => [kind, table])).toEqual([
      ['INSERT', 'ticket'],
      ['SELECT', 'ticket'],
    ])
    await desk.as({ sub: '8' }).get('/agents')
    await reset()
    expect([desk.statements, desk.log]).toEqual([[], []])
  })

  it('moves the time of the application only', async () => {
    await reset()
    const before = Date.now()
    const ann = desk.as({ sub: '7', roles: ['agent'] }, { expiresIn: '1h' })
    expect((await ann.get('/agents')).status).toBe(200)
    expect((await ann.get('/rare')).status).toBe(200)
    expect((await ann.get('/rare')).status).toBe(429)
    await desk.clock.advance('2m')
    expect((await ann.get('/rare')).status).toBe(200)
    await desk.clock.advance('1h')
    expect((await ann.get('/agents')).status).toBe(401)
    expect(Date.now() - before).toBeLessThan(3_600_000)
    await expect(desk.clock.advance('soon')).rejects.toThrow('is not a time')
  })

  it('uses the fresh tokens of rotation, as the client does', async () => {
    await reset()
    const ann = desk.as({ sub: '7', roles: ['agent'] }, { expiresIn: '1h' })
    await ann.get('/agents')
    await desk.clock.advance('40m')
    expect((await ann.get('/agents')).headers['freshtoken']).toBeDefined()
    await desk.clock.advance('40m')
    expect((await ann.get('/agents')).status).toBe(200)
  })

  it('starts again after a reset', async () => {
    await desk.records(Team).create({ name: 't' })
    const ann = desk.as({ sub: '7' })
    await ann.get('/visits')
    await desk.anonymous.get('/rare')
    await desk.get(Auth).revokeAll('7')
    await reset()
    expect(await desk.records(Team).count()).toBe(0)
    expect((await desk.records(Team).create({ name: 't' })).id).toBe(1)
    expect((await ann.get('/visits')).body).toEqual({ visits: 1 })
    expect((await desk.anonymous.get('/rare')).status).toBe(200)
    expect((await ann.post('/tickets', { title: 'x' })).status).toBe(201)
  })

  if (!isOwn) {
    it('empties no given database, unless enabled', async () => {
      await reset()
      await desk.records(Team).create({ name: 'kept' })
      await expect(desk.reset()).rejects.toThrow('emptyTables: true')
      expect(await desk.records(Team).count()).toBe(1)
    })
  }
})

describe('testApplication', () => {
  it('replaces providers', async () => {
    const spy = new Mailer()
    await using desk = await testApplication(DeskModule, {
      override: [{ provide: Mailer, use: spy }],
    })
    await desk.as({ sub: '7' }).post('/tickets', { title: 'x' })
    expect(spy.sent).toEqual(['7'])
    expect(desk.get(Mailer)).toBe(spy)
    await using other = await testApplication(DeskModule, { override: [[Mailer, spy]] })
    expect(other.get(Mailer)).toBe(spy)
  })

  it('refuses options and overrides without effect', async () => {
    await expect(testApplication(DeskModule, { databse: 'x' } as never)).rejects.toThrow('databse')
    await expect(testApplication(DeskModule, { port: 3000 } as never)).rejects.toThrow('port')
    class Unprovided {}
    await expect(
      testApplication(DeskModule, { override: [{ provide: Unprovided, use: 1 }] }),
    ).rejects.toThrow('nothing provides Unprovided')
    await using desk = await testApplication(DeskModule)
    await expect(desk.reset({ all: true } as never)).rejects.toThrow('unknown option "all"')
  })

  it('runs several concurrently, each with its own database, time and log', async () => {
    await using one = await testApplication(DeskModule)
    await using other = await testApplication(DeskModule)
    await one.records(Team).create({ name: 't' })
    await one.clock.advance('1d')
    expect(await other.records(Team).count()).toBe(0)
    expect(other.clock.now()).toBeLessThan(one.clock.now() - 80_000_000)
    expect(other.statements).toHaveLength(1)
  })

  it('can be closed twice', async () => {
    const desk = await testApplication(DeskModule)
    await desk.close()
    await desk.close()
  })

  it('uses the configured endpoint of GraphQL, behind a prefix too', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('hello', { type: 'String', resolve: () => 'hi' })
    graphql.registerRoute('/questions')
    @Module({ graphql: [graphql] })
    class Questions {}
    await using desk = await testApplication(Questions, { basePath: '/api' })
    expect(await desk.anonymous.graphql('{ hello }')).toEqual({ data: { hello: 'hi' } })
  })
})
