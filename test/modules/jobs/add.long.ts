/** Adding jobs: when they exist, what is refused, and how `unique` works. On both engines. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  Controller,
  Database,
  Field,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  type CommitContext,
} from 'filigree'
import { Job, Jobs, jobs, type RunningJob } from 'filigree/jobs'
import { testApplication, type TestApplication } from 'filigree/testing'
import { closeJobDatabases, jobDatabases } from './databases.js'

class Welcome {
  @Field('integer') userId!: number
  @Field('string', { optional: true }) text?: string
}

const ran: [string, unknown][] = []

class Mail {
  @Job({ body: Welcome })
  welcome(body: Welcome, job: RunningJob): void {
    ran.push([`${job.name} ${body.constructor.name}`, { userId: body.userId }])
  }

  @Job({ name: 'bye' })
  farewell(body: { readonly name: string }): void {
    ran.push(['bye', body])
  }
}

@Record
class Order {
  static inject = []
  @Field('id') id!: number
  @Field('integer') userId!: number

  @AfterCommit() async addFollowUp({ get }: CommitContext<Order>): Promise<void> {
    if (this.userId === 99) await get(Jobs).add(Mail, 'welcome', { userId: 99 })
  }
}

class NewOrder {
  @Field('integer') userId!: number
  @Field('string', { default: 'none' }) failure!: string
}

@NoAuth
@Controller('/orders')
class Orders {
  static inject = [Jobs, Database]
  constructor(
    private readonly jobs: Jobs,
    private readonly database: Database,
  ) {}

  @Post('/', { body: NewOrder, transaction: true })
  async make(body: NewOrder) {
    await this.database.records(Order).create({ userId: body.userId })
    const added = await this.jobs.add(Mail, 'welcome', { userId: body.userId })
    if (body.failure === 'throws') throw new Error('no')
    if (body.failure === 'replies') return reply({ no: true }, 500)
    return added
  }

  @Get('/count') count() {
    return this.jobs.counts()
  }
}

describe.each(jobDatabases)('on %s', (_name, open) => {
  let desk: TestApplication
  let queue: Jobs
  let database: Database

  beforeAll(async () => {
    const graphql = new GraphQL().registerRoute('/graphql')
    graphql.schema.addMutation('sendTwo', {
      type: 'Int!',
      args: { fail: 'Boolean!' },
      resolve: async (_parent: unknown, { fail }: { fail: boolean }) => {
        await database.transaction(async () => {
          await queue.add(Mail, 'welcome', { userId: 1 })
          if (fail) throw new Error('no')
        })
        return 1
      },
    })
    graphql.schema.addQuery('one', { type: 'Int', resolve: () => 1 })
    @Module({
      controllers: [Orders],
      providers: [Mail],
      records: [Order],
      imports: [jobs()],
      graphql: [graphql],
    })
    class App {}
    desk = await testApplication(App, { database: await open() })
    queue = desk.get(Jobs)
    database = desk.get(Database)
  })

  afterEach(async () => {
    ran.length = 0
    await desk.reset({ emptyTables: true })
  })
  afterAll(() => desk.close())

  const waiting = async (): Promise<number> => (await queue.counts()).waiting

  it('a job exists once it is added, and runs with an instance of its class', async () => {
    const added = await queue.add(Mail, 'welcome', { userId: 7 })
    expect(added).toEqual({ id: expect.any(Number), added: true })
    expect(await queue.find(added.id)).toMatchObject({
      name: 'Mail.welcome',
      state: 'waiting',
      body: { userId: 7 },
      attempt: 0,
    })
    expect(await queue.drain()).toBe(1)
    expect(ran).toEqual([['Mail.welcome Welcome', { userId: 7 }]])
    expect(await queue.find(added.id)).toMatchObject({ state: 'done', attempt: 1 })
  })

  it('outside a transaction it is one statement, with unique at most two', async () => {
    // Timers of the application send other statements: they read the clock of the database, and look for jobs.
    const count = (): number =>
      desk.statements.filter(({ sql }) => /insert into|where unique_key/.test(sql)).length
    const before = count()
    await queue.add(Mail, 'welcome', { userId: 7 })
    expect(count() - before).toBe(1)
    await queue.add(Mail, 'welcome', { userId: 7 }, { unique: 'a' })
    expect(count() - before).toBe(2)
    await queue.add(Mail, 'welcome', { userId: 7 }, { unique: 'a' })
    expect(count() - before).toBe(4)
  })

  describe('exists only if the transaction is committed', () => {
    it('of a route', async () => {
      const response = await desk.anonymous.post('/orders', { userId: 1 })
      expect([response.status, await waiting()]).toEqual([200, 1])
    })

    it.each(['throws', 'replies'])('of a route that %s', async (failure) => {
      const response = await desk.anonymous.post('/orders', { userId: 1, failure })
      expect([response.status, await waiting()]).toEqual([500, 0])
    })

    it('of database.transaction, and of a part of it', async () => {
      await database.transaction(async (tx) => {
        await queue.add(Mail, 'welcome', { userId: 1 })
        await tx
          .transaction(async () => {
            await queue.add(Mail, 'welcome', { userId: 2 })
            throw new Error('no')
          })
          .catch(() => undefined)
      })
      expect((await queue.list()).map(({ body }) => body)).toEqual([{ userId: 1 }])
    })

    it('with the query builder', async () => {
      await database.kysely.transaction().execute(async () => {
        await queue.add(Mail, 'welcome', { userId: 1 })
      })
      const refused = database.kysely.transaction().execute(async () => {
        await queue.add(Mail, 'welcome', { userId: 2 })
        throw new Error('no')
      })
      await expect(refused).rejects.toThrow('no')
      expect((await queue.list()).map(({ body }) => body)).toEqual([{ userId: 1 }])
    })

    it('of a GraphQL mutation', async () => {
      const { data } = await desk.operator.graphql('mutation { sendTwo(fail: false) }')
      expect([data, await waiting()]).toEqual([{ sendTwo: 1 }, 1])
      await desk.operator.graphql('mutation { sendTwo(fail: true) }')
      expect(await waiting()).toBe(1)
    })

    it('and a hook after the commit may add another', async () => {
      await database.records(Order).create({ userId: 99 })
      expect(await waiting()).toBe(1)
    })
  })

  describe('unique', () => {
    it('returns the existing job, also while it runs, and is free afterwards', async () => {
      const first = await queue.add(Mail, 'welcome', { userId: 1 }, { unique: 'a' })
      expect(first.added).toBe(true)
      const second = await queue.add(Mail, 'welcome', { userId: 2 }, { unique: 'a' })
      expect(second).toEqual({ id: first.id, added: false })
      await queue.drain()
      const third = await queue.add(Mail, 'welcome', { userId: 1 }, { unique: 'a' })
      expect(third.added).toBe(true)
      expect(third.id).not.toBe(first.id)
    })

    it('added twice concurrently: one is added', async () => {
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, userId) =>
          queue.add(Mail, 'welcome', { userId }, { unique: 'a' }),
        ),
      )
      expect(all.filter(({ added }) => added)).toHaveLength(1)
      expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    })

    it.each([undefined, 'read committed', 'repeatable read', 'serializable'] as const)(
      'never fails the transaction of the caller, isolation %s',
      async (isolation) => {
        const { id } = await queue.add(Mail, 'welcome', { userId: 1 }, { unique: 'a' })
        const results = await Promise.all(
          [1, 2].map((userId) =>
            database.transaction(async () => {
              await database.records(Order).create({ userId })
              const existing = await queue.add(Mail, 'welcome', { userId }, { unique: 'a' })
              const added = await queue.add(Mail, 'welcome', { userId }, { unique: 'b' })
              return [existing, added] as const
            }, isolation && { isolation }),
          ),
        )
        expect(results.map(([existing]) => existing)).toEqual([
          { id, added: false },
          { id, added: false },
        ])
        expect(results.filter(([, added]) => added.added)).toHaveLength(1)
        expect(await database.records(Order).count()).toBe(2)
      },
    )

    it('of a job to be repeated is taken over where another is added at the same time', async () => {
      const { id } = await queue.add(Mail, 'welcome', { userId: 1 }, { unique: 'a' })
      await queue.cancel(id)
      let added = (): void => undefined
      // Runs outside the transaction, while it is open.
      const retried = new Promise<void>((resolve) => {
        added = resolve
      }).then(() => queue.retry(id))
      const other = await database.transaction(async () => {
        const one = await queue.add(Mail, 'welcome', { userId: 2 }, { unique: 'a' })
        added()
        // Two round trips, in which the repetition is sent.
        for (let count = 0; count < 2; count++) await queue.find(id)
        return one
      })
      expect([other.added, await retried]).toEqual([true, false])
      expect(await queue.find(id)).toMatchObject({ state: 'cancelled' })
    })

    it('is released by a rollback', async () => {
      await database
        .transaction(async () => {
          await queue.add(Mail, 'welcome', { userId: 1 }, { unique: 'a' })
          throw new Error('no')
        })
        .catch(() => undefined)
      expect((await queue.add(Mail, 'welcome', { userId: 2 }, { unique: 'a' })).added).toBe(true)
    })
  })

  describe('addMany', () => {
    it.each([0, 1, 3, 700])('returns an entry for each of %d bodies, in order', async (count) => {
      const bodies = Array.from({ length: count }, (_, userId) => ({ userId }))
      const added = await queue.addMany(Mail, 'welcome', bodies, { priority: 3 })
      expect(added.every((one) => one.added)).toBe(true)
      expect(new Set(added.map(({ id }) => id)).size).toBe(count)
      expect(await waiting()).toBe(count)
      const last = added.at(-1)
      if (last !== undefined)
        expect(await queue.find(last.id)).toMatchObject({
          body: { userId: count - 1 },
          priority: 3,
        })
    })

    it('is all or nothing', async () => {
      const bodies = [{ userId: 1 }, { userId: 'x' as never }]
      await expect(queue.addMany(Mail, 'welcome', bodies)).rejects.toThrow(
        'userId must be an integer',
      )
      expect(await waiting()).toBe(0)
    })

    it('with unique adds one', async () => {
      const added = await queue.addMany(Mail, 'welcome', [{ userId: 1 }, { userId: 2 }], {
        unique: 'a',
      })
      expect(added.map((one) => one.added)).toEqual([true, false])
      expect(added[0]?.id).toBe(added[1]?.id)
    })
  })

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a body that does not fit',
      () => queue.add(Mail, 'welcome', { userId: 'x' as never }),
      'userId must be an integer',
    ],
    ['a body that is missing', () => queue.add(Mail, 'welcome'), 'the body'],
    [
      'a body of more than 256 KiB',
      () => queue.add(Mail, 'farewell', { name: 'x'.repeat(262_144) }),
      'at most 262144 are stored',
    ],
    [
      'a body that is not JSON',
      () => queue.add(Mail, 'farewell', { name: 1n as never }),
      'cannot be converted to JSON',
    ],
    ['NUL', () => queue.add(Mail, 'farewell', { name: 'a\0b' }), 'NUL'],
    ['an unpaired surrogate', () => queue.add(Mail, 'farewell', { name: 'a\ud800' }), 'surrogate'],
    ['NUL in unique', () => queue.add(Mail, 'farewell', { name: '' }, { unique: 'a\0b' }), 'NUL'],
    [
      'an unpaired surrogate in unique',
      () => queue.add(Mail, 'farewell', { name: '' }, { unique: 'a\ud800' }),
      'NUL',
    ],
    [
      'a class without jobs',
      () => queue.add(Orders, 'count' as never),
      'Orders.count is not a job',
    ],
    ['an unknown method', () => queue.add(Mail, 'nothing' as never), 'Mail.nothing is not a job'],
    [
      'a wrong time',
      () => queue.add(Mail, 'farewell', { name: '' }, { in: 'soon' }),
      'in is "soon"',
    ],
    [
      'an invalid date',
      () => queue.add(Mail, 'farewell', { name: '' }, { at: 'never' }),
      'at is "never". Give a valid Date.',
    ],
    [
      'two times',
      () => queue.add(Mail, 'farewell', { name: '' }, { at: 0, in: 1 }),
      'exclude each other',
    ],
    [
      'priority 101',
      () => queue.add(Mail, 'farewell', { name: '' }, { priority: 101 }),
      'Write 0 to 100',
    ],
    [
      'an empty unique',
      () => queue.add(Mail, 'farewell', { name: '' }, { unique: '' }),
      'unique cannot be used. Write 1 to 500 characters',
    ],
    [
      'an unknown option',
      () => queue.add(Mail, 'farewell', { name: '' }, { prio: 1 } as never),
      'unknown option "prio"',
    ],
    [
      'a body of a thousand lists in one another',
      () => queue.addMany(Mail, 'farewell', [JSON.parse('['.repeat(1001) + ']'.repeat(1001))]),
      'more than 500 levels deep',
    ],
    [
      'a name that is not a string',
      () => Promise.resolve().then(() => queue.list({ name: {} as never })),
      'name cannot be used. Write the name of a job',
    ],
    [
      'an unknown state',
      () => Promise.resolve().then(() => queue.list({ state: 'old' as never })),
      'state is "old". Write \'waiting\', ',
    ],
  ])('%s is refused, and nothing is added', async (_what, add, message) => {
    await expect(add()).rejects.toThrow(message)
    expect(await waiting()).toBe(0)
  })

  it.each<unknown>(["1' or 1", '1', NaN, -1, 0, 1.5, 2 ** 53, Infinity, null, {}])(
    'the id %j finds nothing',
    async (value) => {
      await queue.add(Mail, 'farewell', { name: '' })
      const id = value as number
      expect(await queue.find(id)).toBeUndefined()
      expect(await queue.retry(id)).toBe(false)
      expect(await queue.cancel(id)).toBe(false)
      expect(await queue.list({ after: id })).toEqual([])
      expect((await queue.counts()).waiting).toBe(1)
    },
  )

  it('keeps all bodies unchanged, one by one and together', async () => {
    const bodies = ['text', 'null', 7, true, false, null, [1, [2]], {}, { b: 1, g: 'x' }, '{"a":1}']
    const [one = { id: 0 }] = await queue.addMany(Mail, 'farewell', bodies as never[])
    for (const [index, body] of bodies.entries()) {
      const { id } = await queue.add(Mail, 'farewell', body as never)
      expect(await queue.find(id)).toMatchObject({ body })
      expect((await queue.find(one.id + index))?.body).toEqual(body)
    }
    await queue.drain()
    const ranBodies = ran.map(([, body]) => body)
    expect(ranBodies).toEqual([...bodies, ...bodies])
  })

  it('a property __proto__ of a body stays a property', async () => {
    await queue.add(Mail, 'farewell', JSON.parse('{"__proto__":{"admin":true}}') as never)
    await queue.drain()
    const [, body] = ran[0] ?? []
    expect(Object.keys(body as object)).toEqual(['__proto__'])
    expect((body as { admin?: boolean }).admin).toBeUndefined()
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it('accepts a backslash and u0000 in a text', async () => {
    const name = 'C:\\u0000'
    const { id } = await queue.add(Mail, 'farewell', { name })
    expect(await queue.find(id)).toMatchObject({ body: { name } })
  })

  it('waits for its time, by the clock', async () => {
    await queue.add(Mail, 'farewell', { name: 'in' }, { in: '10m' })
    await queue.add(
      Mail,
      'farewell',
      { name: 'at' },
      { at: new Date(desk.clock.now() + 1_200_000) },
    )
    await queue.add(Mail, 'farewell', { name: 'past' }, { at: new Date(0) })
    expect(await queue.drain()).toBe(1)
    await desk.clock.advance('9m')
    expect(await queue.drain()).toBe(0)
    await desk.clock.advance('70s')
    expect(await queue.drain()).toBe(1)
    await desk.clock.advance('10m')
    expect(await queue.drain()).toBe(1)
    expect(ran.map(([, body]) => (body as { name: string }).name)).toEqual(['past', 'in', 'at'])
  })
})

afterAll(closeJobDatabases)
