/** Round trips to PostgreSQL, counted by a relay between the application and the server. */
import {
  createServer,
  connect as connectSocket,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
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

/** Its updates need a transaction, because a hook reads the row. */
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

/** Whether the bytes hold only the periodic query for table sizes. */
function isSizeQuery(chunk: Buffer): boolean {
  const text = chunk.toString('latin1')
  return text.includes('{"good","crate"}') && new Set(text.match(/filigree_[0-9a-f]{32}/g)).size < 2
}

describe('one round trip to PostgreSQL', () => {
  let server: PostgresServer
  let relay: Server
  let url: string
  let database: Database
  let chunks = 0
  const sockets = new Set<Socket>()

  beforeAll(async () => {
    server = await startPostgres()
    const direct = new URL(await server.createDatabase())
    const [host, port] = [direct.hostname, Number(direct.port)]
    relay = createServer((socket) => {
      const target = connectSocket(port, host)
      for (const one of [socket, target]) {
        sockets.add(one)
        one.on('error', () => undefined)
        one.setNoDelay()
      }
      socket.on('data', (chunk) => {
        if (!isSizeQuery(chunk)) chunks++
        target.write(chunk)
      })
      target.on('data', (chunk) => socket.write(chunk))
      socket.on('close', () => target.destroy())
      target.on('close', () => socket.destroy())
    })
    await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done))
    direct.hostname = '127.0.0.1'
    direct.port = String((relay.address() as AddressInfo).port)
    url = direct.href
    database = await connect(url, { records: [Good, Crate] })
    await database.sync()
    const names = Array.from({ length: 30 }, (_, index) => ({
      name: `Good ${index + 1}`,
      stock: index,
    }))
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
      // In development, statements are explained after the requests.
      env: { NODE_ENV: 'test' },
      database: `${url}?connections=${connections}`,
      graphql: { noAuth: true },
    })
  const mutate = async (app: Application, fields: string[], variables = {}) => {
    const names = fields.map((field, index) => `m${index}: ${field}`).join('\n')
    const query = `mutation ${'one' in variables ? '($one: Int)' : ''} { ${names} }`
    const sent = { method: 'POST', url: '/graphql', json: { query, variables } }
    const response = JSON.parse((await app.inject(sent)).body) as {
      data: { [name: string]: unknown }
      errors?: { message: string; path: string[] }[]
    }
    return response
  }
  const countingRoundTrips = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
    const before = chunks
    return [await work(), chunks - before]
  }

  it('is enough for a page of a crud list and its total', async () => {
    // With more connections, a slow read would send probe queries.
    const app = await start(1)
    await app.inject({ url: '/goods?limit=5' })
    const [response, count] = await countingRoundTrips(() => app.inject({ url: '/goods?limit=5' }))
    expect(response.headers['x-total-count']).toBe('30')
    expect(JSON.parse(response.body)).toHaveLength(5)
    expect(count).toBe(1)
    await app.close()
  })

  it('is enough for the mutations of one operation, in their order', async () => {
    const app = await start(1)
    const changes = Array.from(
      { length: 8 },
      (_, index) => `updateGood(id: 7, input: { stock: ${index} }) { stock }`,
    )
    await mutate(app, changes)
    const [{ data, errors }, count] = await countingRoundTrips(() => mutate(app, changes))
    expect(errors).toBeUndefined()
    expect(changes.map((_, index) => data[`m${index}`])).toEqual(
      changes.map((_, stock) => ({ stock })),
    )
    expect(await database.records(Good).find(7)).toMatchObject({ stock: 7 })
    expect(count).toBe(1)
    await app.close()
  })

  it.each([1, 2, 10])(
    'mutations that fail or need a transaction keep their order, over %i connections',
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
      expect(fields.map((_, index) => data[`m${index}`])).toEqual([
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

  it('many concurrent operations do not deadlock', async () => {
    const app = await start(2)
    const operations = Array.from({ length: 20 }, (_, index) =>
      mutate(app, [
        `updateGood(id: ${index + 1}, input: { stock: 50 }) { stock }`,
        `updateGood(id: ${index + 1}, input: { name: "Good 30" }) { stock }`,
        `updateCrate(id: 2, input: { size: ${index} }) { size }`,
        `updateGood(id: ${index + 1}, input: { stock: 51 }) { stock }`,
      ]),
    )
    for (const { data, errors } of await Promise.all(operations)) {
      expect(data).toMatchObject({ m0: { stock: 50 }, m1: null, m3: { stock: 51 } })
      expect(errors).toMatchObject([{ path: ['m1'] }])
    }
    await app.close()
  })
})
