/**
 * A hook sets an invalid value in a field that the caller may not read. Every interface that adds a path or a row's
 * number to the error reports that the row is invalid, and neither the field's name nor its rule. Source: decisions,
 * Records: access rules.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
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
  Post,
  Record,
  type Rel,
  Secured,
} from 'filigree'
import { Admin, admin, AdminAction } from 'filigree/admin'
import { jobs, Job, Jobs } from 'filigree/jobs'
import { mcp, Tool } from 'filigree/mcp'
import { startBothEngines } from './both-engines.js'

@Record({ writes: ['clerk'] })
@Admin({ title: 'name' })
@Tool({ writes: true })
class Part {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string', { hidden: true, maxLength: 4, default: 'none' }) secretWord!: Generated<string>
  @Secured('manager')
  @Field('string', { oneOf: ['secretly poor', 'secretly prime'], default: 'secretly poor' })
  secretGrade!: Generated<string>
  @Field('integer', { max: 9, default: 1 }) size!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) machineId?: number | null
  @BelongsTo(() => Machine) machine?: Rel<Machine>

  @BeforeWrite()
  prepare() {
    if (this.name.startsWith('word')) this.secretWord = 'too long'
    if (this.name.startsWith('grade')) this.secretGrade = 'other'
    if (this.name.startsWith('size')) this.size = 70
  }

  @AdminAction({ label: 'Word', bulk: true })
  word() {
    this.name = `word ${this.id}`
  }

  @AdminAction({ label: 'Grade', bulk: true })
  grade() {
    this.name = `grade ${this.id}`
  }
}

@Record({ writes: ['clerk'] })
@Tool({ writes: true })
class Machine {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Part) parts!: Rel<Part[]>
}

/** Without hooks, so that many rows are written together. */
@Record({ writes: ['clerk'] })
class Screw {
  @Field('id') id!: number
  @Field('string', { optional: true, nullable: true }) name?: string | null
  @Field('string', { hidden: true, maxLength: 4, default: 'none' }) secretWord!: Generated<string>
}

@Controller('/parts', { crud: Part })
@Tool()
class PartController {}
@Controller('/machines', { crud: Machine })
class MachineController {}

class Sent {
  @Field('string') secretWord!: string
}

/** Writes many rows in one call. */
@Controller('/screws')
@NoAuth
class ScrewController {
  static inject = [Database, Jobs]
  constructor(
    private readonly database: Database,
    private readonly queue: Jobs,
  ) {}

  @Post('/<call>', { body: Sent })
  async write(call: string, body: Sent) {
    const screws = this.database.records(Screw)
    const { secretWord } = body
    const rows = [{ name: 'a' }, { name: 'b', secretWord }]
    if (call === 'insertMany') await screws.insertMany(rows)
    if (call === 'createMany') await screws.createMany(rows)
    if (call === 'updateMany')
      await screws.updateMany([
        { id: 1, name: 'a' },
        { id: 1, secretWord },
      ])
    if (call === 'job') await this.queue.add(Order, 'screws', body)
    if (call === 'again') {
      // What an application may do with an error: copy it with another path, and throw it again.
      await screws.create(rows[1] as Screw).catch((error: unknown) => {
        if (!(error instanceof HttpError)) throw error
        const errors = error.errors?.map((one) => ({ ...one, path: `body.${one.path}` }))
        throw new HttpError(409, 'The screw is invalid.', { errors, cause: error })
      })
    }
    return { done: true }
  }
}

class Order {
  @Job({ body: Sent })
  screws() {
    return undefined
  }
}

@Controller('/login')
class Login {
  @Post({ body: Sent })
  @NoAuth
  login() {
    return {}
  }
}

@Module({
  records: [Part, Machine, Screw],
  controllers: [PartController, MachineController, ScrewController, Login],
  providers: [Order],
  imports: [
    jobs({ work: false }),
    mcp(),
    admin({ path: '/admin', roles: ['clerk'], records: [Part], login: { path: '/login' } }),
  ],
})
class Factory {}

interface Request {
  readonly method?: string
  readonly url: string
  readonly json?: object
  readonly body?: string
  readonly type?: string
}

const graphql = (query: string, variables: object): Request => ({
  url: '/graphql',
  json: { query, variables },
})
const tool = (name: string, input: object): Request => ({
  url: '/mcp',
  json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
})
const csv = (query: string, name: string): Request => ({
  url: `/admin/api/csv/parts${query}`,
  body: `name\nfine\n${name}\n`,
  type: 'text/csv',
})

/** Requests that write a part of this name, or give one this name. */
const interfaces: { readonly [name: string]: (name: string) => Request } = {
  'crud, a new row': (name) => ({ url: '/parts', json: { name } }),
  'crud, a change': (name) => ({ method: 'PATCH', url: '/parts/1', json: { name } }),
  'crud, another row': (name) => ({ method: 'PUT', url: '/parts/1', json: { name } }),
  'crud, a nested row': (name) => ({
    url: '/machines',
    json: { name: 'm', parts: { create: [{ name: 'fine' }, { name }] } },
  }),
  'GraphQL, a new row': (name) =>
    graphql('mutation ($name: String!) { createPart(input: { name: $name }) { id } }', { name }),
  'GraphQL, new rows': (name) =>
    graphql(
      'mutation ($name: String!) { createParts(input: [{ name: "fine" }, { name: $name }]) { id } }',
      { name },
    ),
  'GraphQL, changed rows': (name) =>
    graphql(
      'mutation ($name: String!) { updateParts(input: [{ id: 2, name: "fine" }, { id: 1, name: $name }]) { id } }',
      { name },
    ),
  'GraphQL, an upsert': (name) =>
    graphql('mutation ($name: String!) { upsertPart(by: name, input: { name: $name }) { id } }', {
      name,
    }),
  'GraphQL, a nested row': (name) =>
    graphql(
      'mutation ($name: String!) { createMachine(input: { name: "m", parts: [{ name: "fine" }, { name: $name }] }) { id } }',
      { name },
    ),
  'MCP, a route': (name) => tool('partCreate', { name }),
  'MCP, a query': (name) =>
    tool('query', {
      query: 'mutation ($name: String!) { createParts(input: [{ name: $name }]) { id } }',
      variables: { name },
    }),
  'the admin page, one row': (name) => ({
    url: '/admin/api/save/parts/1',
    json: { was: {}, values: { name } },
  }),
  'the admin page, a new row': (name) => ({ url: '/admin/api/rows/parts', json: { name } }),
  'the admin page, many rows': (name) => ({
    url: '/admin/api/bulk/parts',
    json: { ids: [1], values: { name } },
  }),
  'the admin page, a preview': (name) => ({
    url: '/admin/api/bulk/parts',
    json: { ids: [1], values: { name }, preview: true },
  }),
  'the admin page, an action on one row': (name) => ({
    url: `/admin/api/actions/parts/${name}`,
    json: { ids: [1] },
  }),
  'the admin page, an action on two rows': (name) => ({
    url: `/admin/api/actions/parts/${name}`,
    json: { ids: [1, 2] },
  }),
  'the admin page, an import': (name) => csv('', name),
  'the admin page, an import with progress': (name) => csv('?progress=true', name),
}

const engines = await startBothEngines()

describe.each(engines)('errors of fields that the caller may not read on %s', (_, open) => {
  let app: Application
  let token: string

  beforeAll(async () => {
    app = await bootstrap(Factory, { listen: false, logger: false, database: await open() })
    token = await app.get(Auth).getToken({ sub: 'c', roles: ['clerk'] })
  })
  beforeEach(async () => {
    const database = app.get(Database)
    for (const type of [Part, Machine, Screw]) await database.records<object>(type).deleteWhere({})
    await database.records(Part).insertMany([
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ])
    await database.records(Screw).create({ id: 1 })
  })
  afterAll(() => app.close())

  const send = ({ method = 'POST', url, json, body, type }: Request) =>
    app.inject({
      method,
      url,
      ...(json === undefined ? { body } : { json }),
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(type !== undefined && { 'content-type': type }),
      },
    })

  describe.each(['word', 'grade'])('a hook sets an invalid %s', (name) => {
    it.each(Object.keys(interfaces))('%s', async (one) => {
      const request = interfaces[one]?.(name) as Request
      const { body } = await send(request)
      // The values of an action are the program's.
      const message = one.includes('action') ? /nternal server error/ : /does not fit the record/
      expect(body).toMatch(message)
      expect(body).not.toMatch(/secret/i)
      expect(await app.get(Database).records(Part).count({ name })).toBe(0)
    })
  })

  it.each(Object.keys(interfaces).filter((one) => !one.includes('action')))(
    'a hook sets an invalid field that the caller may read: %s names it',
    async (one) => {
      const { body } = await send(interfaces[one]?.('size') as Request)
      expect(body).toMatch(/size must be at most 9/)
    },
  )

  it('a check of an import runs no hook, and says that the import will', async () => {
    const { body } = await send(csv('?check=true', 'word'))
    expect(JSON.parse(body)).toMatchObject({ faults: [], hooks: true })
  })

  it.each(['insertMany', 'createMany', 'updateMany', 'again'])(
    '%s by a handler reports no hidden field',
    async (call) => {
      const sent = { url: `/screws/${call}`, json: { secretWord: 'too long' } }
      const { body, status } = await send(sent)
      // A value that the client did not send is an error of the program.
      expect([400, 409, 500]).toContain(status)
      expect(body).not.toMatch(/secretWord|too long|at most/)
    },
  )
})
