/** Abandoned reads on PostgreSQL end on the server, and failed reads are not repeated. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  Get,
  Module,
  NoAuth,
  Record,
  type HttpRequest,
} from 'filigree'
import { sql } from 'kysely'
import { countSessions, waitsForLock } from './count-sessions.js'
import { runSql } from './run-sql.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'

@Record({ table: 'left_stone' })
@NoAuth
class Stone {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/stones', { crud: Stone })
@NoAuth
class Stones {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/at-once') atOnce(request: HttpRequest) {
    return this.database.recordsFor(Stone, request).list({ where: { name: 'x' } })
  }
  @Get('/of-one') ofOne(request: HttpRequest) {
    return this.database.recordsFor(Stone, request).find(3)
  }
}

@Module({ controllers: [Stones], records: [Stone] })
class Quarry {}

const options = {
  ...({ port: 0, host: '127.0.0.1', logger: false, env: {} } as const),
  // A busy machine must not refuse requests.
  times: { delay: Infinity },
}
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describe('reads that wait for a lock', () => {
  let url: string
  let holder: Database
  let observer: Database
  beforeAll(async () => {
    url = await server.createDatabase()
    observer = await connect(url)
    holder = await connect(url, { records: [Stone] })
    await holder.sync()
    await holder.records(Stone).insertMany([{ name: 'one' }, { name: 'two' }])
  })
  afterAll(() => Promise.all([holder.close(), observer.close()]))

  const query = (text: string): string => `/graphql?query=${encodeURIComponent(text)}`
  const questions: readonly (readonly [name: string, path: (index: number) => string])[] = [
    ['lists', () => '/stones?orderBy=name'],
    ['lists that differ', (index) => `/stones?name=${index}`],
    ['rows by their key', (index) => `/stones/${1 + (index % 2)}`],
    ['the same row', () => '/stones/1'],
    ['aggregates', () => '/stones/aggregate?count=true'],
    ['lists of GraphQL', (index) => query(`{ stones(limit: ${1 + index}) { name } }`)],
    ['rows of GraphQL', () => query('{ stone(id: 1) { name } }')],
    ['lists of a handler', () => '/stones/at-once'],
    ['a row of a handler', () => '/stones/of-one'],
  ]

  it.each(
    questions.flatMap(([name, path]) => [1, 12].map((clients) => [name, clients, path] as const)),
  )(
    'end on the server when the clients disconnect: %s of %d clients',
    async (_name, clients, path) => {
      // No timeout of the server ends them.
      const address = new URL(url)
      address.searchParams.set('lock_timeout', '0')
      address.searchParams.set('statement_timeout', '0')
      await using app = await bootstrap(Quarry, { ...options, database: address.href })
      await holder.transaction(async (tx) => {
        await sql`lock table left_stone in access exclusive mode`.execute(tx.kysely)
        const leaving = new AbortController()
        const statuses: number[] = []
        const aborted = Array.from({ length: clients }, (_, index) =>
          fetch(app.url + path(index), { signal: leaving.signal }).then(
            ({ status }) => statuses.push(status),
            () => 'left',
          ),
        )
        await waitUntil(async () => {
          expect(statuses).toEqual([])
          return (await countSessions(observer, waitsForLock)) > 0
        })
        leaving.abort()
        expect(new Set(await Promise.all(aborted))).toEqual(new Set(['left']))
        await waitUntil(async () => (await countSessions(observer, waitsForLock)) === 0)
      })
    },
  )
})

describe('a read that fails', () => {
  let database: Database
  let app: Awaited<ReturnType<typeof bootstrap>>
  beforeAll(async () => {
    database = await connect(await server.createDatabase(), { records: [Stone] })
    await database.sync()
    app = await bootstrap(Quarry, { ...options, listen: false, database })
    await runSql(
      database,
      `create sequence runs;
       create table failure (code text);
       insert into failure values ('00000');
       create function fails() returns boolean language plpgsql as
         $$ begin perform nextval('runs'); raise exception using errcode = (select code from failure), message = 'It failed.'\; end $$;
       alter table left_stone rename to stone_base;
       create view left_stone as select * from stone_base where fails();
       insert into stone_base (name) values ('one');
      `.replaceAll('\\;', ';'),
    )
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const codes = [
    ['57014', 'a timeout'],
    ['55P03', 'a lock'],
    ['53400', 'a limit of the server'],
    ['53200', 'too little memory'],
    ['53100', 'a full disk'],
    ['58030', 'a broken disk'],
    ['42501', 'a missing right'],
    ['22012', 'a value'],
    ['P0001', 'its own error'],
  ] as const
  const interfaces: readonly (readonly [name: string, read: () => Promise<unknown>])[] = [
    ['list', () => database.records(Stone).list()],
    ['find', () => database.records(Stone).find(1)],
    ['count', () => database.records(Stone).count({ name: 'one' })],
    ['aggregate', () => database.records(Stone).aggregate({ min: ['id'] })],
    ['crud', () => app.inject({ url: '/stones?count=none&orderBy=name' })],
    ['crud by key', () => app.inject({ url: '/stones/1' })],
    ['GraphQL', () => app.inject({ url: '/graphql?query={stones{name}}' })],
    ['GraphQL by key', () => app.inject({ url: '/graphql?query={stone(id:1){name}}' })],
  ]

  it.each(
    codes.flatMap(([code, why]) =>
      interfaces.map(([name, read]) => [why, name, code, read] as const),
    ),
  )('caused by %s runs once, through %s', async (_why, _name, code, read) => {
    await runSql(database, `update failure set code = '${code}';\nalter sequence runs restart;\n`)
    await read().catch(() => undefined)
    const { rows } = await sql<{ n: unknown }>`select nextval('runs') as n`.execute(database.kysely)
    expect(Number(rows[0]?.n)).toBe(2)
  })
})
