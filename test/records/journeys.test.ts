/** What goes to PostgreSQL in one journey, counted by a relay before the server. */
import { createServer, connect as open, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BeforeWrite,
  bootstrap,
  connect,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
  type Database,
} from 'filigree'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Record({ plural: 'goods' })
@NoAuth
class Good {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('integer', { min: 0 }) stock!: number
}

/** Its changes are transactions: a hook looks at the row. */
@Record({ plural: 'crates' })
@NoAuth
class Crate {
  @Field('id') id!: number
  @Field('integer') size!: number

  @BeforeWrite()
  grow() {
    this.size += 100
  }
}

@Controller('/goods', { crud: Good })
@NoAuth
class Goods {}

@Module({ controllers: [Goods], records: [Good, Crate] })
class Shop {}

/** The question for the sizes of tables, which goes by itself now and then, and nothing beside it. */
function isOfSizes(piece: Buffer): boolean {
  const text = piece.toString('latin1')
  return text.includes('{"good","crate"}') && new Set(text.match(/filigree_[0-9a-f]{32}/g)).size < 2
}

describe('one journey to PostgreSQL', () => {
  let server: PostgresServer
  let relay: Server
  let url: string
  let database: Database
  let pieces = 0
  const sockets = new Set<Socket>()

  beforeAll(async () => {
    server = await startPostgres()
    const direct = new URL(await server.createDatabase())
    const [host, port] = [direct.hostname, Number(direct.port)]
    relay = createServer((socket) => {
      const target = open(port, host)
      for (const one of [socket, target]) {
        sockets.add(one)
        one.on('error', () => undefined)
        one.setNoDelay()
      }
      socket.on('data', (piece) => {
        if (!isOfSizes(piece)) pieces++
        target.write(piece)
      })
      target.on('data', (piece) => socket.write(piece))
      socket.on('close', () => target.destroy())
      target.on('close', () => socket.destroy())
    })
    await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done))
    direct.hostname = '127.0.0.1'
    direct.port = String((relay.address() as AddressInfo).port)
    url = direct.href
    database = await connect(url, { records: [Good, Crate] })
    await database.sync()
    const names = Array.from({ length: 30 }, (_, at) => ({ name: `Good ${at + 1}`, stock: at }))
    await database.records(Good).createMany(names)
    await database.records(Crate).createMany([{ size: 1 }, { size: 2 }])
  })
  afterAll(async () => {
    await database.close()
    relay.close()
    for (const socket of sockets) socket.destroy()
    await server.close()
  })

  const start = (connections: number): Promise<Application> =>
    bootstrap(Shop, {
      listen: false,
      logger: false,
      // In development statements are explained behind the requests.
      env: { NODE_ENV: 'test' },
      database: `${url}?connections=${connections}`,
      graphql: { noAuth: true },
    })
  const mutate = async (app: Application, fields: string[], variables = {}) => {
    const names = fields.map((field, at) => `m${at}: ${field}`).join('\n')
    const query = `mutation ${'one' in variables ? '($one: Int)' : ''} { ${names} }`
    const sent = { method: 'POST', url: '/graphql', json: { query, variables } }
    const answer = JSON.parse((await app.inject(sent)).body) as {
      data: { [name: string]: unknown }
      errors?: { message: string; path: string[] }[]
    }
    return answer
  }
  const counted = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
    const before = pieces
    return [await work(), pieces - before]
  }

  it('a page of crud and its total', async () => {
    // With more connections a slow one would make it ask whether others are slow as well.
    const app = await start(1)
    await app.inject({ url: '/goods?limit=5' })
    const [answer, count] = await counted(() => app.inject({ url: '/goods?limit=5' }))
    expect(answer.headers['x-total-count']).toBe('30')
    expect(JSON.parse(answer.body)).toHaveLength(5)
    expect(count).toBe(1)
    await app.close()
  })

  it('mutations of one operation, in their order', async () => {
    const app = await start(1)
    const changes = Array.from(
      { length: 8 },
      (_, at) => `updateGood(id: 7, input: { stock: ${at} }) { stock }`,
    )
    await mutate(app, changes)
    const [{ data, errors }, count] = await counted(() => mutate(app, changes))
    expect(errors).toBeUndefined()
    expect(changes.map((_, at) => data[`m${at}`])).toEqual(changes.map((_, stock) => ({ stock })))
    expect(await database.records(Good).find(7)).toMatchObject({ stock: 7 })
    expect(count).toBe(1)
    await app.close()
  })

  it.each([1, 2, 10])(
    'mutations that fail, run in transactions or ask more stand where they are, over %i connections',
    async (connections) => {
      const app = await start(connections)
      await database.records(Crate).update(1, { size: 0 })
      const set = (stock: string, id = 8) =>
        `updateGood(id: ${id}, input: { stock: ${stock} }) { stock }`
      const crate = (size: number) => `updateCrate(id: 1, input: { size: ${size} }) { size }`
      const fields = [
        set('1'),
        set('$one'),
        `updateGood(id: 8, input: { name: "Good 9" }) { id }`,
        set('-1'),
        set('3', 4711),
        crate(5),
        crate(6),
        set('4'),
        `createGood(input: { name: "New ${connections}", stock: 1 }) { name }`,
        `createGood(input: { name: "New ${connections}", stock: 2 }) { name }`,
        `updateGood(id: 8, input: { stock: 5 }) { id, name, stock }`,
      ]
      const { data, errors } = await mutate(app, fields, { one: 2 })
      expect(fields.map((_, at) => data[`m${at}`])).toEqual([
        { stock: 1 },
        { stock: 2 },
        null,
        null,
        null,
        { size: 105 },
        { size: 106 },
        { stock: 4 },
        { name: `New ${connections}` },
        null,
        { id: '8', name: 'Good 8', stock: 5 },
      ])
      expect(errors?.map(({ path }) => path)).toEqual([['m2'], ['m3'], ['m4'], ['m9']])
      await app.close()
    },
  )

  it('many operations at once do not wait for each other for ever', async () => {
    const app = await start(2)
    const operations = Array.from({ length: 20 }, (_, at) =>
      mutate(app, [
        `updateGood(id: ${at + 1}, input: { stock: 50 }) { stock }`,
        `updateGood(id: ${at + 1}, input: { name: "Good 30" }) { stock }`,
        `updateCrate(id: 2, input: { size: ${at} }) { size }`,
        `updateGood(id: ${at + 1}, input: { stock: 51 }) { stock }`,
      ]),
    )
    for (const { data, errors } of await Promise.all(operations)) {
      expect(data).toMatchObject({ m0: { stock: 50 }, m1: null, m3: { stock: 51 } })
      expect(errors).toMatchObject([{ path: ['m1'] }])
    }
    await app.close()
  })
})
