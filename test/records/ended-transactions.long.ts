/**
 * Code of a transaction that runs on after its end cannot write or read, whatever it uses. Work for later is registered
 * with `onCommit`, `@AfterCommit` or a job. Source: decisions, Records: transactions and isolation.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  Auth,
  BeforeWrite,
  Controller,
  Database,
  Field,
  GraphQL,
  Module,
  NoAuth,
  oneTime,
  Post,
  Record,
  type CommitContext,
  type OneTime,
} from 'filigree'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startBothEngines } from './both-engines.js'
import { sendGraphql } from './send-graphql.js'

@Record({ table: 'ended_note' })
class Note {
  @Field('id') id!: number
  @Field('string', { unique: true }) text!: string
}

@Record({ table: 'ended_hooked' })
class Hooked {
  @Field('id') id!: number
  @Field('string') text!: string

  @BeforeWrite() start(): void {
    startLate()
    if (this.text === 'fails') throw new Error('The work fails.')
  }
}

@Record({ table: 'ended_followed' })
class Followed {
  @Field('id') id!: number
  @Field('string') text!: string

  @AfterCommit() async note({ get }: CommitContext<Followed>): Promise<void> {
    await get(Database)
      .records(Note)
      .create({ text: `after ${this.text}` })
  }
}

const invitations = oneTime<string>('invitation', { for: '7d' })

class Work {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Job() async run(): Promise<void> {
    await this.database.transaction(async () => {
      startLate()
    })
  }

  @Job() async note(): Promise<void> {
    await this.database.records(Note).create({ text: 'of a job' })
  }
}

class Fails {
  @Field('boolean', { default: false }) fails!: boolean
}

@NoAuth
@Controller('/')
class Routes {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/route', { body: Fails, transaction: true }) async route(body: Fails) {
    startLate()
    await this.database.records(Note).count()
    if (body.fails) throw new Error('The work fails.')
    return { done: true }
  }
}

const graphql = new GraphQL()
graphql.schema.addQuery('ok', { type: 'Boolean', resolve: () => true }).addMutation('work', {
  type: 'Boolean',
  noAuth: true,
  args: { fails: 'Boolean' },
  resolve: async (_parent, { fails }) => {
    await app.get(Database).transaction(async () => {
      startLate()
      if (fails === true) throw new Error('The work fails.')
    })
    return true
  },
})
graphql.schema.fromOrm(Hooked)
graphql.registerRoute('/graphql', { noAuth: true })

@Module({
  controllers: [Routes],
  records: [Note, Hooked, Followed],
  graphql: [graphql],
  providers: [Work, invitations],
  imports: [jobs()],
})
class Office {}

let app: TestApplication
/** Begins the late call in the running transaction. */
let startLate: () => void = () => undefined

const notes = () => app.get(Database).records(Note)
const text = 'late'
const insertNote = `insert into ended_note (text) values ('late')`

/** Calls that need the database. */
const calls: Readonly<globalThis.Record<string, () => Promise<unknown>>> = {
  find: () => notes().find(1),
  list: () => notes().list(),
  count: () => notes().count(),
  create: () => notes().create({ text }),
  createMany: () => notes().createMany([{ text }, { text: 'late 2' }]),
  insertMany: () => notes().insertMany([{ text }]),
  update: () => notes().update(1, { text }),
  updateMany: () => notes().updateMany([{ id: 1, text }]),
  updateWhere: () => notes().updateWhere({}, { text }),
  upsert: () => notes().upsert({ text }, { by: 'text' }),
  delete: () => notes().delete(1),
  deleteMany: () => notes().deleteMany([1]),
  deleteWhere: () => notes().deleteWhere({}),
  'a create with hooks': () => app.get(Database).records(Hooked).create({ text }),
  'a query of Kysely': () =>
    app.get(Database).kysely.insertInto('ended_note').values({ text }).execute(),
  'a transaction of Kysely': () =>
    app
      .get(Database)
      .kysely.transaction()
      .execute(async (trx) => trx.insertInto('ended_note').values({ text }).execute()),
  transaction: () => app.get(Database).transaction(() => notes().create({ text })),
  'a prepared statement': () =>
    app
      .get(Database)
      .prepare({ kind: 'insert', tables: ['ended_note'] }, () => insertNote)
      .change(),
  'jobs.add': () => app.get(Jobs).add(Work, 'note'),
  'jobs.addMany': () => app.get(Jobs).addMany(Work, 'note', [undefined as never]),
  'jobs.retry': () => app.get(Jobs).retry(1),
  'auth.revoke': () => app.get(Auth).revoke('late'),
  'auth.revokeAll': () => app.get(Auth).revokeAll('late'),
  'a one-time token': () => app.get<OneTime<string>>(invitations).make('late'),
  openTransaction: async () =>
    app
      .get(Database)
      .openTransaction()
      ?.onCommit(() => undefined),
}

/** Transactions that begin the late call, and fail if asked to. */
const transactions: Readonly<globalThis.Record<string, (fails: boolean) => Promise<unknown>>> = {
  'database.transaction': (fails) =>
    app.get(Database).transaction(async () => {
      startLate()
      if (fails) throw new Error('The work fails.')
    }),
  'the first attempt of a transaction that runs again': async (fails) => {
    let attempts = 0
    await app.get(Database).transaction(async () => {
      if (++attempts === 1) startLate()
      if (attempts === 1 || fails) await notes().create({ text: 'fixed' })
    })
  },
  'a transaction of Kysely': (fails) =>
    app
      .get(Database)
      .kysely.transaction()
      .execute(async () => {
        startLate()
        if (fails) throw new Error('The work fails.')
      }),
  'a part': (fails) =>
    app.get(Database).transaction(async (tx) => {
      await tx.transaction(async () => {
        startLate()
        if (fails) throw new Error('The work fails.')
      })
    }),
  'a route with a transaction': async (fails) => {
    const { status } = await app.anonymous.post('/route', { fails })
    expect(status).toBe(fails ? 500 : 200)
  },
  'a mutation': (fails) => sendGraphql(app.app, `mutation { work(fails: ${fails}) }`),
  'a hook of a mutation': (fails) =>
    sendGraphql(
      app.app,
      `mutation { createHooked(input: { text: "${fails ? 'fails' : 'works'}" }) { id } }`,
    ),
  'a hook': (fails) =>
    app
      .get(Database)
      .records(Hooked)
      .create({ text: fails ? 'fails' : 'works' }),
  'a job': async () => {
    await app.get(Jobs).add(Work, 'run')
    expect(await app.get(Jobs).drain()).toBe(1)
  },
}

/** Runs a transaction, and then a call that it has left behind. @returns what the call rejects with */
async function callAfter(
  transaction: () => Promise<unknown>,
  call: () => Promise<unknown>,
): Promise<unknown> {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  let late: Promise<unknown> | undefined
  startLate = () => {
    startLate = () => undefined
    late = ended.then(call).then(
      () => 'it ran',
      (error: unknown) => error,
    )
  }
  await transaction().catch(() => undefined)
  startLate = () => undefined
  end()
  return late
}

/** Everything that a late call could have stored. */
async function stored(): Promise<unknown> {
  const database = app.get(Database)
  const rows = await notes().list()
  const queue = await app.get(Jobs).list()
  const invited = await database.kysely.selectFrom('filigree_one_time').selectAll().execute()
  return { rows, queue, invited, isRevoked: !(await app.get(Auth).revoke('late')) }
}

const outcomes = [
  ['committed', false],
  ['rolled back', true],
] as const

describe.each(await startBothEngines())('%s: code of an ended transaction', (_engine, open) => {
  beforeAll(async () => {
    app = await testApplication(Office, { database: await open() })
  })
  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    await notes().create({ text: 'fixed' })
  })
  afterAll(() => app.close())

  describe.each(outcomes)('that was %s', (_outcome, fails) => {
    it.each(Object.entries(calls))('cannot use %s', async (_name, call) => {
      const late = await callAfter(() => transactions['database.transaction']!(fails), call)
      expect(late).toMatchObject({ code: 'TRANSACTION_OVER' })
      expect(await stored()).toEqual({
        rows: [{ id: 1, text: 'fixed' }],
        queue: [],
        invited: [],
        isRevoked: false,
      })
    })

    it.each(Object.entries(transactions))('%s cannot write', async (_name, transaction) => {
      const late = await callAfter(() => transaction(fails), calls['create']!)
      expect(late).toMatchObject({ code: 'TRANSACTION_OVER' })
      expect(await notes().count()).toBe(1)
    })
  })

  it('the error says what to do', async () => {
    const late = await callAfter(
      () => transactions['database.transaction']!(false),
      calls['create']!,
    )
    expect(String(late)).toBe(
      'TransactionError: The transaction is over. Its function has returned before this call. Await the call inside the function. Start later work with onCommit, @AfterCommit or a job.',
    )
  })

  it('siblings of a failed call store nothing', async () => {
    const order: string[] = []
    const save = async (name: string): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      await notes().create({ text: name })
      order.push(name)
    }
    let siblings: PromiseSettledResult<void>[] = []
    let settled = Promise.resolve()
    const work = app.get(Database).transaction(async () => {
      const saved = [save('a'), Promise.reject(new Error('no')), save('b')]
      settled = Promise.allSettled(saved).then((results) => {
        siblings = results
      })
      await Promise.all(saved)
    })
    await expect(work).rejects.toThrow('no')
    await settled
    expect(siblings.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(order).toEqual([])
    expect(await notes().count()).toBe(1)
  })

  it('a statement that runs at the end of the function still belongs to the transaction', async () => {
    let late: Promise<unknown> = Promise.resolve()
    const reported: unknown[] = []
    const stop = app.get(Database).onChange(({ id }) => reported.push(id))
    await app.get(Database).transaction(async () => {
      late = notes().create({ text: 'a' })
    })
    const { id } = (await late) as Note
    stop()
    expect(reported).toEqual([id])
    expect(await notes().count()).toBe(2)
  })

  it('a statement that fails at the end of the function fails the transaction', async () => {
    let late: Promise<unknown> = Promise.resolve()
    const work = app.get(Database).transaction(async () => {
      await notes().create({ text: 'a' })
      late = notes()
        .create({ text: 'fixed' })
        .catch((error: unknown) => error)
    })
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_FAILED' })
    expect(await late).toMatchObject({ status: 409 })
    expect(await notes().count()).toBe(1)
  })

  it('a part whose work has not ended is rolled back, and its promise rejects', async () => {
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    let part: Promise<unknown> = Promise.resolve()
    let late: Promise<unknown> = Promise.resolve()
    await app.get(Database).transaction(async (tx) => {
      await tx.records(Note).create({ text: 'outer' })
      await new Promise<void>((started) => {
        part = tx
          .transaction(async (inner) => {
            await inner.records(Note).create({ text: 'inner' })
            started()
            late = ended
              .then(() => inner.records(Note).create({ text: 'late' }))
              .catch((error: unknown) => error)
            await late
          })
          .catch((error: unknown) => error)
      })
    })
    expect(await part).toMatchObject({ code: 'TRANSACTION_OVER' })
    end()
    expect(await late).toMatchObject({ code: 'TRANSACTION_OVER' })
    expect((await notes().list()).map((note) => note.text)).toEqual(['fixed', 'outer'])
  })

  it('a part that was not awaited before the end never begins', async () => {
    const began: string[] = []
    let parts: Promise<unknown>[] = []
    await app.get(Database).transaction(async (tx) => {
      const never = async (): Promise<void> => {
        began.push('part')
        await new Promise(() => undefined)
      }
      parts = [tx.transaction(never), tx.transaction(never)]
      for (const part of parts) part.catch(() => undefined)
      await tx.records(Note).count()
    })
    for (const part of parts) await expect(part).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
    expect(began.length).toBeLessThan(2)
  })

  it('code after a transaction of Kysely does not belong to it, on the same connection too', async () => {
    const { kysely } = app.get(Database)
    await kysely.connection().execute(async (connection) => {
      const works = connection.transaction().execute(async (trx) => {
        await trx.insertInto('ended_note').values({ text: 'a' }).execute()
        await notes().create({ text: 'b' })
      })
      await works
      await connection.insertInto('ended_note').values({ text: 'c' }).execute()
      const fails = connection.transaction().execute(async () => {
        await notes().create({ text: 'd' })
        throw new Error('no')
      })
      await expect(fails).rejects.toThrow('no')
      await notes().create({ text: 'e' })
    })
    const texts = (await notes().list()).map((note) => note.text)
    expect(texts).toEqual(['fixed', 'a', 'b', 'c', 'e'])
  })

  it('work for later runs outside: onCommit, @AfterCommit and jobs', async () => {
    const database = app.get(Database)
    let later: Promise<unknown> = Promise.resolve()
    await database.transaction(async (tx) => {
      database.openTransaction()?.onCommit(() => {
        later = notes().create({ text: 'on commit' })
      })
      await tx.records(Followed).create({ text: 'tx' })
      await database.records(Followed).create({ text: 'database' })
      await tx.transaction((part) => part.records(Followed).create({ text: 'part' }))
      await app.get(Jobs).add(Work, 'note')
    })
    await later
    await app.get(Jobs).drain()
    const texts = (await notes().list()).map((note) => note.text)
    expect(texts.sort()).toEqual([
      'after database',
      'after part',
      'after tx',
      'fixed',
      'of a job',
      'on commit',
    ])
  })

  it('onCommit of a transaction of Kysely runs outside of it', async () => {
    const { kysely } = app.get(Database)
    let later: Promise<unknown> = Promise.resolve()
    await kysely.transaction().execute(async (trx) => {
      await trx.insertInto('ended_note').values({ text: 'a' }).execute()
      app
        .get(Database)
        .openTransaction()
        ?.onCommit(() => {
          later = notes().create({ text: 'on commit' })
        })
    })
    await later
    expect(await notes().count()).toBe(3)
  })

  it('listeners that a transaction has started are called outside of it', async () => {
    const database = app.get(Database)
    const written: Promise<unknown>[] = []
    const stop = await database.transaction(() =>
      database.onChange(
        (change) => {
          if (change.event === 'created' && change.record === Followed)
            written.push(notes().create({ text: 'by a listener' }))
        },
        { everywhere: true },
      ),
    )
    await database.records(Followed).create({ text: 'x' })
    await Promise.all(written)
    stop()
    expect(written).toHaveLength(1)
    expect(await notes().count({ text: 'by a listener' })).toBe(1)
  })
})
