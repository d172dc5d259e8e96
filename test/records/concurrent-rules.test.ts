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
import { call } from '../modules/mcp/ask.js'
import { startPostgres } from './postgres-server.js'

const taken = (): HttpError => new HttpError(409, 'The doctor has no time.')

/** A rule that only reads. */
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
    const others = await records(Visit).list({
      where: {
        doctorId: this.doctorId,
        state: 'booked',
        startsAt: { lt: this.endsAt },
        endsAt: { gt: this.startsAt },
      },
    })
    if (others.some(({ id }) => id !== this.id)) throw taken()
  }

  @AdminAction({ label: 'Book', bulk: true })
  async book({ records }: ActionContext) {
    await records(Visit).update(this.id, { state: 'booked' })
  }
}

/** The same rule with a lock, and rows of which each caller sees some. */
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
    const others = await records(Surgery).list({
      where: {
        doctorId: this.doctorId,
        state: 'booked',
        startsAt: { lt: this.endsAt },
        endsAt: { gt: this.startsAt },
      },
    })
    if (others.some(({ id }) => id !== this.id)) throw taken()
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

/** Looks, then writes; no hook, a unique number. */
@Row
class Invoice {
  @Field('id') id!: number
  @Field('integer', { unique: true }) number!: number
}

/** The rule is in the handler: an owner may not go below zero over all accounts. */
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

/** Each books the slot. */
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

describe('on PostgreSQL, of 40 requests for one slot', () => {
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
  const race = <T>(count: number, send: (who: TestCaller, index: number) => Promise<T>) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        send(caller(apps[index % 2] as TestApplication), index),
      ),
    )
  const booked = (name: Name): Promise<number> =>
    database.records<Visit>(records[name] as never).count({ state: 'booked' })
  const statuses = (
    answers: readonly { readonly status: number }[],
  ): { [status: number]: number } => {
    const counts: { [status: number]: number } = {}
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }
  /** Rows that wait for their slot. @returns their keys */
  const ask = async (name: Name, count: number): Promise<number[]> => {
    const rows = Array.from({ length: count }, () => ({ ...slot, state: 'asked' }))
    const made = await database.records<Visit>(records[name]).createMany(rows)
    return made.map(({ id }) => id)
  }
  const path = { Visit: 'visits', Surgery: 'surgeries' }

  describe.each(['Visit', 'Surgery'] as const)('%s', (name) => {
    it('one is created by REST', async () => {
      const answers = await race(40, (who) => who.post(`/${path[name]}`, slot))
      expect(statuses(answers)).toEqual({ 201: 1, 409: 39 })
      expect(await booked(name)).toBe(1)
    })

    it('one is changed by REST', async () => {
      const ids = await ask(name, 40)
      const answers = await race(40, (who, index) =>
        who.patch(`/${path[name]}/${ids[index] ?? 0}`, { state: 'booked' }),
      )
      expect(statuses(answers)).toEqual({ 200: 1, 409: 39 })
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
    ])('one is written by GraphQL: %s', async (_, text) => {
      const mutation =
        name === 'Visit'
          ? text
          : text
              .replaceAll('Visit', 'Surgery')
              .replace('createSurgerys', 'createSurgeries')
              .replace('visits:', 'surgeries:')
      const answers = await race(40, (who) => who.graphql(`mutation { ${mutation} }`))
      const failed = answers.flatMap(({ errors }) => errors ?? [])
      expect(failed.map(({ message }) => message)).toEqual(
        Array(39).fill('The doctor has no time.'),
      )
      expect(await booked(name)).toBe(1)
    })

    it.each(['in-transaction', ...Object.keys(ways)])(
      'one is written by a handler: %s',
      async (way) => {
        const answers = await race(20, (who) =>
          who.post(`/ways/${encodeURIComponent(way)}/${name}`),
        )
        expect(statuses(answers)).toEqual({ 200: 1, 409: 19 })
        expect(await booked(name)).toBe(1)
      },
    )

    it('one is saved in the admin page', async () => {
      const ids = await ask(name, 20)
      const answers = await race(20, (who, index) =>
        who.post(`/admin/api/save/${path[name]}/${ids[index] ?? 0}`, {
          was: { state: 'asked' },
          values: { state: 'booked' },
        }),
      )
      expect(statuses(answers)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('one is changed with others in the admin page', async () => {
      const ids = await ask(name, 20)
      const answers = await race(20, (who, index) =>
        who.post(`/admin/api/bulk/${path[name]}`, {
          ids: [ids[index]],
          values: { state: 'booked' },
        }),
      )
      expect(statuses(answers)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('one is changed by an action of the admin page', async () => {
      const ids = await ask(name, 20)
      const answers = await race(20, (who, index) =>
        who.post(`/admin/api/actions/${path[name]}/book`, { ids: [ids[index]] }),
      )
      expect(statuses(answers)).toEqual({ 200: 1, 409: 19 })
      expect(await booked(name)).toBe(1)
    })

    it('one comes by a CSV file', async () => {
      const file = `doctorId,startsAt,endsAt\r\n1,${slot.startsAt},${slot.endsAt}\r\n`
      const answers = await race(16, (who) =>
        who.post(`/admin/api/csv/${path[name]}`, file, { headers: { 'content-type': 'text/csv' } }),
      )
      expect(statuses(answers)).toEqual({ 200: 1, 400: 15 })
      expect(await booked(name)).toBe(1)
    })

    it('one is written by a job', async () => {
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (apps[index % 2] as TestApplication).get(Jobs).add(Worker, 'book', { name }),
        ),
      )
      await Promise.all(apps.map((app) => app.jobs.run()))
      expect(await booked(name)).toBe(1)
    })

    it('one is written by a tool', async () => {
      const query = `mutation { create${name}(input: ${input}) { id } }`
      const answers = await race(40, async (_, index) => {
        const app = apps[index % 2] as TestApplication
        const token = await app.get(Auth).getToken({ sub: 'ann' })
        return call(app, 'query', { query }, { token })
      })
      const texts = answers.map(({ result }) => JSON.stringify(result))
      expect(texts.filter((text) => text.includes('The doctor has no time.'))).toHaveLength(39)
      expect(await booked(name)).toBe(1)
    })
  })

  it('one keeps a rule of its handler, over rows that no hook guards', async () => {
    await database.records(Account).createMany([
      { owner: 1, balance: 50 },
      { owner: 1, balance: 50 },
    ])
    const answers = await race(40, (who) => who.post('/ways/rule'))
    expect(statuses(answers)).toEqual({ 200: 1, 409: 39 })
  })

  it('each gets a number of its own where it looks for the last and adds one', async () => {
    const answers = await race(10, (who) => who.post('/ways/invoice'))
    expect(statuses(answers)).toEqual({ 200: 10 })
    const numbers = (await database.records(Invoice).list()).map(({ number }) => number)
    expect(numbers.sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})
