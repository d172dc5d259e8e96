/** Errors about hidden fields reach the program only. No interface reveals the field to a client, and no such error is a 500. Source: decisions, Records: writes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
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
  Post,
  Record,
  type Rel,
  type Repository,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

@NoAuth
@Record({ version: true })
class User {
  @Field('id') id!: number
  @Field('string', { minLength: 1 }) name!: string
  @Field('string', { hidden: true, maxLength: 4, default: 'none' }) secretWord!: Generated<string>
  @Field('integer', { hidden: true, unique: true, optional: true, nullable: true, max: 9 })
  secretPin?: number | null
  @Field('integer', { hidden: true, optional: true, nullable: true }) secretTeamId?: number | null
  @BelongsTo(() => Team, { by: 'secretTeamId' }) team!: Rel<Team>

  @BeforeWrite()
  prepare() {
    if (this.name === 'long') this.secretWord = 'too long'
    if (this.name === 'taken') this.secretPin = 1
    if (this.name === 'nobody') this.secretTeamId = 99
  }
}

@NoAuth
@Record
class Team {
  @Field('id') id!: number
  @Field('string', { default: 'a' }) name!: Generated<string>
  @HasMany(() => User, { by: 'secretTeamId' }) users!: Rel<User[]>
}

type Ways = globalThis.Record<string, (users: Repository<User>) => Promise<unknown>>

/** What a handler might do with unchecked input of a client. */
const ways: Ways = {
  create: (users) => users.create({ name: 'a', secretWord: 'too long' }),
  'create, by type': (users) => users.create({ name: 'a', secretPin: 'x' as never }),
  createMany: (users) => users.createMany([{ name: 'a' }, { name: 'b', secretWord: 'too long' }]),
  insertMany: (users) => users.insertMany([{ name: 'a' }, { name: '', secretPin: 10 }]),
  update: (users) => users.update(1, { secretWord: 'too long' }),
  'update, by sum': (users) => users.update(1, { secretPin: { add: 100 } }),
  'update, by what is added': (users) => users.update(1, { secretPin: { add: 'x' as never } }),
  'update, where': (users) =>
    users.update(1, { name: 'b' }, { where: { secretWord: { gte: 5 as never } } }),
  updateMany: (users) => users.updateMany([{ id: 1, secretWord: 'too long' }]),
  updateWhere: (users) => users.updateWhere({}, { secretPin: 10 }),
  'updateWhere, by filter': (users) =>
    users.updateWhere({ secretPin: 'x' as never }, { name: 'b' }),
  deleteWhere: (users) => users.deleteWhere({ secretPin: 'x' as never }),
  upsert: (users) => users.upsert({ name: 'a', secretPin: 10 }, { by: 'secretPin' }),
  'upsert, by no unique field': (users) => users.upsert({ name: 'a' }, { by: 'name' }),
  taken: (users) => users.create({ name: 'taken' }),
  'no such team': (users) => users.create({ name: 'nobody' }),
  list: (users) => users.list({ where: { secretPin: { gte: 'x' as never } } }),
  'list, a slip': (users) => users.list({ where: { secretWor: 'x' } as never }),
  'list, by order': (users) => users.list({ orderBy: { secretWord: 'up' as never } }),
  'list, a slip of an order': (users) => users.list({ orderBy: { secretWor: 'asc' } as never }),
  'list, by relation': (users) =>
    users.list({ where: { team: { users: { secretPin: 'x' } } } as never }),
  count: (users) => users.count({ secretPin: 'x' as never }),
  aggregate: (users) => users.aggregate({ sum: ['secretWord'] as never }),
  'aggregate, where': (users) => users.aggregate({ where: { secretPin: 'x' as never } }),
}

@Controller('/users', { crud: User })
@NoAuth
class Users {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/way/<name>')
  async way(name: string) {
    await ways[name]?.(this.database.records(User))
    return { done: true }
  }
}

@Module({ controllers: [Users], records: [User, Team] })
class Club {}

const engines = await startBothEngines()

describe.each(engines)('errors about hidden fields on %s', (_, open) => {
  let app: Application
  let users: Repository<User>
  const warnings: string[] = []
  beforeAll(async () => {
    const quiet = (): void => undefined
    const warn = (_about: object, text: string): void => {
      warnings.push(text)
    }
    const logger = { debug: quiet, info: quiet, warn, error: quiet }
    app = await bootstrap(Club, { listen: false, logger, database: await open() })
    users = app.get(Database).records(User)
    await users.create({ name: 'first', secretPin: 1 })
  })
  afterAll(() => app.close())

  it.each(Object.keys(ways))('%s: the error names the field to the program only', async (name) => {
    const url = `/users/way/${encodeURIComponent(name)}`
    const { status, body } = await app.inject({ method: 'POST', url })
    // A value that the client did not send is an error of the program.
    expect([400, 409, 500]).toContain(status)
    expect(body).not.toMatch(/secret/i)
    const accept = { Accept: 'application/problem+json' }
    const problem = await app.inject({ method: 'POST', url, headers: accept })
    expect(problem.body).not.toMatch(/secret/i)
    const failed = await ways[name]?.(users).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failed).toBeInstanceOf(HttpError)
    const namesField = !['taken', 'no such team', 'upsert, by no unique field'].includes(name)
    if (namesField) expect((failed as HttpError).message).toMatch(/secret/i)
  })

  it('are logged, because the response does not contain them', async () => {
    warnings.length = 0
    await app.inject({ method: 'POST', url: '/users/way/update%2C%20by%20sum' })
    expect(warnings).toStrictEqual([
      'a validation error of hidden fields was not reported to the client',
    ])
  })

  const restRequests: globalThis.Record<string, object | string> = {
    'POST long': { name: 'long' },
    'POST taken': { name: 'taken' },
    'POST nobody': { name: 'nobody' },
    'POST unknown': { name: 'a', secretWord: 'a' },
    'POST slip': { name: 'a', secretWor: 'a' },
    'PATCH /1 long': { name: 'long' },
    'PUT /1 nobody': { name: 'nobody' },
    'GET ?secretWor=a': '',
    'GET ?team.users.secretWor=a': '',
    'GET ?orderBy=secretWor': '',
    'GET ?with=secretPi': '',
    'GET ?fields=secretWor': '',
    'GET /aggregate?sum=secretPi': '',
    'GET /aggregate?groupBy=secretWor': '',
  }
  it.each(Object.keys(restRequests))('crud: %s', async (name) => {
    const [method = '', path = ''] = name.split(' ')
    const json = restRequests[name]
    const url = `/users${/^[/?]/.test(path) ? path : ''}`
    const { status, body } = await app.inject({
      method,
      url,
      ...(typeof json === 'object' && { json }),
    })
    expect([400, 409]).toContain(status)
    // The response may repeat names that the client sent, but not complete a guessed name.
    const requestText = url + JSON.stringify(json)
    const names = body.match(/secret\w*/gi) ?? []
    for (const one of names) expect(requestText).toContain(one)
    if (!requestText.includes('"secretWord"'))
      expect(body).not.toMatch(/secretWord|secretPin|secretTeam\b/)
  })

  const operations = [
    'mutation { createUser(input: { name: "long" }) { id } }',
    'mutation { createUsers(input: [{ name: "taken" }]) { id } }',
    'mutation { updateUser(id: 1, input: { name: "nobody" }) { id } }',
    'mutation { updateUsers(input: [{ id: 1, name: "long" }]) { id } }',
    'mutation { upsertUser(by: name, input: { name: "a" }) { id } }',
    'mutation { createUser(input: { name: "a", secretWor: "a" }) { id } }',
    '{ users(where: { secretWor: { eq: "a" } }) { id } }',
    '{ users(orderBy: { secretWor: ASC }) { id } }',
    '{ users { secretWor } }',
  ]
  it.each(operations)('GraphQL: %s', async (query) => {
    const { body } = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    expect(body).toContain('"errors"')
    expect(body).not.toMatch(/secretWord|secretPin|secretTeam|INTERNAL/)
  })
})
