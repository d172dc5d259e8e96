/**
 * Rules that read rows and then write, raced on PostgreSQL by every interface: one of the requests wins, the others get 409.
 * Two applications share the database. Source: decisions, Records: transactions.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  BeforeWrite,
  BelongsTo,
  Controller,
  Database,
  Field,
  HasMany,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record as Row,
  type Generated,
  type Rel,
  type WriteContext,
} from 'filigree'
import { Admin, admin, AdminAction, type ActionContext } from 'filigree/admin'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication, type TestCaller } from 'filigree/testing'
import { call } from '../modules/mcp/mcp-requests.js'
import { startPostgres } from './postgres-server.js'

interface Slot {
  readonly doctorId: number
  readonly startsAt: string
  readonly endsAt: string
}

/** The condition on booked rows of the same doctor at the same time. */
const overlapping = ({ doctorId, startsAt, endsAt }: Slot) =>
  ({ doctorId, state: 'booked', startsAt: { lt: endsAt }, endsAt: { gt: startsAt } }) as const

const noTimeError = (): HttpError => new HttpError(409, 'The doctor has no time.')

/** A rule that reads other rows without a lock. */
@Tool({ writes: true })
@Row
@Admin()
class Visit {
  @Field('id') id!: number
  @Field('integer') doctorId!: number
  @BelongsTo(() => Doctor) doctor!: Rel<Doctor>
  @Field('datetime') startsAt!: string
  @Field('datetime') endsAt!: string
  @Field('string', { oneOf: ['asked', 'booked'], default: 'booked' }) state!: Generated<string>

  @BeforeWrite()
  async mustBeFree({ records }: WriteContext<Visit>) {
    if (this.state !== 'booked') return
    const taken = await records(Visit).list({
      where: overlapping(this),
    })
    if (taken.some(({ id }) => id !== this.id)) throw noTimeError()
  }

  @AdminAction({ label: 'Book', bulk: true })
  async book({ records }: ActionContext) {
    await records(Visit).update(this.id, { state: 'booked' })
  }
}

/** The same rule with a lock, on a record with row access rules. */
@Tool({ writes: true })
@Row<Surgery>({ rows: (user) => (user === null ? false : { ward: 1 }) })
@Admin()
class Surgery {
  @Field('id') id!: number
  @Field('integer', { default: 1 }) ward!: Generated<number>
  @Field('integer') doctorId!: number
  @BelongsTo(() => Doctor) doctor!: Rel<Doctor>
  @Field('datetime') startsAt!: string
  @Field('datetime') endsAt!: string
  @Field('string', { oneOf: ['asked', 'booked'], default: 'booked' }) state!: Generated<string>

  @BeforeWrite()
  async mustBeFree({ records }: WriteContext<Surgery>) {
    if (this.state !== 'booked') return
    await records(Doctor).find(this.doctorId, { lock: true })
    const taken = await records(Surgery).list({
      where: overlapping(this),
    })
    if (taken.some(({ id }) => id !== this.id)) throw noTimeError()
  }

  @AdminAction({ label: 'Book', bulk: true })
  async book({ records }: ActionContext) {
    await records(Surgery).update(this.id, { state: 'booked' })
  }
}

@Row
class Doctor {
  @Field('id') id!: number
  @Field('string', { default: 'Ada' }) name!: Generated<string>
  @HasMany(() => Visit) visits!: Rel<Visit[]>
  @HasMany(() => Surgery) surgeries!: Rel<Surgery[]>
}

/** A record without hooks whose number is unique. The handler reads the last number and adds one. */
@Row
class Invoice {
  @Field('id') id!: number
  @Field('integer', { unique: true }) number!: number
}

/** The handler checks the rule: the sum of an owner's accounts may not fall below zero. */
@Row
class Account {
  @Field('id') id!: number
  @Field('integer') owner!: number
  @Field('integer') balance!: number
}

const slot = { doctorId: 1, startsAt: '2027-01-05T10:00:00Z', endsAt: '2027-01-05T10:30:00Z' }
const records = { Visit, Surgery }
type Name = keyof typeof records

type Way = (database: Database, name: Name) => Promise<unknown>

/** The ways a program can book the slot. */
const ways: { [name: string]: Way } = {
  create: (database, name) => database.records<Visit>(records[name]).create(slot),
  createMany: (database, name) => database.records<Visit>(records[name]).createMany([slot]),
  insertMany: (database, name) => database.records<Visit>(records[name]).insertMany([slot]),
  nested: (database, name) =>
    database.records(Doctor).update(1, {
      [name === 'Visit' ? 'visits' : 'surgeries']: {
        create: [{ startsAt: slot.startsAt, endsAt: slot.endsAt }],
      },
    }),
  'updateMany, nested': (database, name) =>
    database.records(Doctor).updateMany([
      {
        id: 1,
        [name === 'Visit' ? 'visits' : 'surgeries']: {
          create: [{ startsAt: slot.startsAt, endsAt: slot.endsAt }],
        },
      },
    ]),
  'database.transaction': (database, name) =>
    database.transaction((tx) => tx.records<Visit>(records[name] as never).create({ ...slot })),
}

@Controller('/visits', { crud: Visit })
class VisitController {}

@Controller('/surgeries', { crud: Surgery })
class SurgeryController {}

@Controller('/ways')
class WaysController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/in-transaction/<name>', { transaction: true })
  async inTransaction(name: Name) {
    await this.database.records<Visit>(records[name]).create(slot)
    return { booked: true }
  }

  @Post('/rule', { transaction: true })
  async rule() {
    const { database } = this
    const accounts = await database.records(Account).list({ where: { owner: 1 } })
    const sum = accounts.reduce((all, { balance }) => all + balance, 0)
    if (sum < 100) throw new HttpError(409, 'Not enough money.')
    const mine = accounts[Math.floor(Math.random() * accounts.length)]
    await database.records(Account).update(mine?.id ?? 0, { balance: (mine?.balance ?? 0) - 100 })
    return { booked: true }
  }

  @Post('/invoice', { transaction: true })
  async invoice() {
    const invoices = this.database.records(Invoice)
    const [last] = await invoices.list({ orderBy: { number: 'desc' }, limit: 1 })
    return invoices.create({ number: (last?.number ?? 0) + 1 })
  }

  @Post('/<way>/<name>')
  async write(way: string, name: Name) {
    await ways[way]?.(this.database, name)
    return { booked: true }
  }
}

class Credentials {
  @Field('string') name!: string
}

@Controller('/')
class Login {
  @NoAuth
  @Post('/login', { body: Credentials })
  enter() {
    throw new HttpError(401)
  }
}

class Booking {
  @Field('string') name!: Name
}

class Worker {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Job({ body: Booking, retries: 0 })
  async book({ name }: Booking) {
    await this.database.records<Visit>(records[name]).create(slot)
  }
}

@Module({
  controllers: [VisitController, SurgeryController, WaysController, Login],
  records: [Visit, Surgery, Doctor, Invoice, Account],
  providers: [Worker],
  imports: [
    admin({
      path: '/admin',
      roles: ['desk'],
      records: [Visit, Surgery, Doctor],
      login: { path: '/login' },
    }),
    jobs({ concurrency: 20 }),
    mcp(),
  ],
})
class Clinic {}

const server = await startPostgres()
afterAll(() => server.close())

describe('40 concurrent requests for one slot on PostgreSQL', () => {
  let apps: TestApplication[]
  let database: Database
  beforeAll(async () => {
    const url = await server.createDatabase()
    apps = []
    for (let count = 0; count < 2; count++)
      apps.push(await testApplication(Clinic, { database: url }))
    database = (apps[0] as TestApplication).get(Database)
  })
  afterAll(async () => {
    for (const app of apps) await app.close()
  })
  beforeEach(async () => {
    for (const table of ['visit', 'surgery', 'doctor', 'invoice', 'account'])
      await database.kysely.deleteFrom(table).execute()
    await database.records(Doctor).create({ id: 1 })
  })

  const caller = (app: TestApplication): TestCaller => app.as({ sub: 'ann', roles: ['desk'] })
  const race = <T>(count: number, send: (user: TestCaller, index: number) => Promise<T>) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        send(caller(apps[index % 2] as TestApplication), index),
      ),
    )
  const booked = (name: Name): Promise<number> =>
    database.records<Visit>(records[name] as never).count({ state: 'booked' })
  const statuses = (
    responses: readonly { readonly status: number }[],
  ): { [status: number]: number } => {
    const counts: { [status: number]: number } = {}
    for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }
  /** Creates visits that are requested but not booked yet. @returns their ids */
  const requestVisits = async (name: Name, count: number): Promise<number[]> => {
    const rows = Array.from({ length: count }, () => ({ ...slot, state: 'asked' }))
    const created = await database.records<Visit>(records[name]).createMany(rows)
    return created.map(({ id }) => id)
  }
  const path = { Visit: 'visits', Surgery: 'surgeries' }

  describe.each(['Visit', 'Surgery'] as const)('%s', (name) => {
    it('REST creates one', async () => {
      const responses = await race(40, (user) => user.post(`/${path[name]}`, slot))
      expect(statuses(responses)).toEqual({ 201: 1, 409: 39 })
      expect(await booked(name)).toBe(1)
    })

    it('REST updates one', async () => {
      const ids = await requestVisits(name, 40)
      const responses = await race(40, (user, index) =>
        user.patch(`/${path[name]}/${ids[index] ?? 0}`, { state: 'booked' }),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 409: 39 })
      expect(await booked(name)).toBe(1)
    })

    const input = `{ doctorId: 1, startsAt: "${slot.startsAt}", endsAt: "${slot.endsAt}" }`
    it.each([
      ['create', `createVisit(input: ${input}) { id }`],
      ['create many', `createVisits(input: [${input}]) { id }`],
      [
        'nested',
        `updateDoctor(id: 1, input: { visits: { create: [{ startsAt: "${slot.startsAt}", endsAt: "${slot.endsAt}" }] } }) { id }`,
      ],
    ])('GraphQL books one: %s', async (_, text) => {
      const mutation =
        name === 'Visit'
          ? text
          : text
              .replaceAll('Visit', 'Surgery')
              .replace('createSurgerys', 'createSurgeries')
              .replace('visits:', 'surgeries:')
      const responses = await race(40, (user) => user.graphql(`mutation { ${mutation} }`))
      const failed = responses.flatMap(({ errors }) => errors ?? [])
      expect(failed.map(({ message }) => message)).toEqual(
        Array(39).fill('The doctor has no time.'),
      )
      expect(await booked(name)).toBe(1)
    })

    it.each(['in-transaction', ...Object.keys(ways)])('a handler books one: %s', async (way) => {
      const responses = await race(20, (user) =>
        user.post(`/ways/${encodeURIComponent(way)}/${name}`),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('the admin page saves one', async () => {
      const ids = await requestVisits(name, 20)
      const responses = await race(20, (user, index) =>
        user.post(`/admin/api/save/${path[name]}/${ids[index] ?? 0}`, {
          was: { state: 'asked' },
          values: { state: 'booked' },
        }),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('the bulk edit of the admin page books one', async () => {
      const ids = await requestVisits(name, 20)
      const responses = await race(20, (user, index) =>
        user.post(`/admin/api/bulk/${path[name]}`, {
          ids: [ids[index]],
          values: { state: 'booked' },
        }),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('a bulk action of the admin page books one', async () => {
      const ids = await requestVisits(name, 20)
      const responses = await race(20, (user, index) =>
        user.post(`/admin/api/actions/${path[name]}/book`, { ids: [ids[index]] }),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('a CSV import books one', async () => {
      const file = `doctorId,startsAt,endsAt\r\n1,${slot.startsAt},${slot.endsAt}\r\n`
      const responses = await race(16, (user) =>
        user.post(`/admin/api/csv/${path[name]}`, file, {
          headers: { 'content-type': 'text/csv' },
        }),
      )
      expect(statuses(responses)).toEqual({ 200: 1, 400: 15 })
      expect(await booked(name)).toBe(1)
    })

    it('a job books one', async () => {
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (apps[index % 2] as TestApplication).get(Jobs).add(Worker, 'book', { name }),
        ),
      )
      await Promise.all(apps.map((app) => app.jobs.run()))
      expect(await booked(name)).toBe(1)
    })

    it('an MCP tool books one', async () => {
      const query = `mutation { create${name}(input: ${input}) { id } }`
      const responses = await race(40, async (_, index) => {
        const app = apps[index % 2] as TestApplication
        const token = await app.get(Auth).getToken({ sub: 'ann' })
        return call(app, 'query', { query }, { token })
      })
      const texts = responses.map(({ result }) => JSON.stringify(result))
      expect(texts.filter((text) => text.includes('The doctor has no time.'))).toHaveLength(39)
      expect(await booked(name)).toBe(1)
    })
  })

  it('a rule that only the handler checks allows one of the requests', async () => {
    await database.records(Account).createMany([
      { owner: 1, balance: 50 },
      { owner: 1, balance: 50 },
    ])
    const responses = await race(40, (user) => user.post('/ways/rule'))
    expect(statuses(responses)).toEqual({ 200: 1, 409: 39 })
  })

  it('reading the last number and adding one gives every request its own number', async () => {
    const responses = await race(10, (user) => user.post('/ways/invoice'))
    expect(statuses(responses)).toEqual({ 200: 10 })
    const numbers = (await database.records(Invoice).list()).map(({ number }) => number)
    expect(numbers.sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})
