/** A hundred concurrent buyers of ten pieces over HTTP. Every supported way of writing sells exactly ten. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'
import { bothEngines } from './both-engines.js'
import { startPostgres } from './postgres-server.js'

@NoAuth
@Record({ version: true })
class Piece {
  @Field('id') id!: number
  @Field('integer', { min: 0 }) stock!: number
  version!: number
}

@Record
class Order {
  @Field('id') id!: number
  @Field('integer') pieceId!: number
}

const soldOut = (): HttpError => new HttpError(409, 'Sold out.', { code: 'SOLD_OUT' })

@Controller('/buy')
@NoAuth
class Buying {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/true', { transaction: true })
  async byDefault() {
    return this.#findAndUpdate(false)
  }

  @Post('/serializable', { transaction: 'serializable' })
  async serializable() {
    return this.#findAndUpdate(false)
  }

  @Post('/lock', { transaction: true })
  async lock() {
    return this.#findAndUpdate(true)
  }

  @Post('/lock-read-committed')
  async lockAlone() {
    return this.database.transaction(() => this.#findAndUpdate(true), {
      isolation: 'read committed',
    })
  }

  @Post('/add')
  async add() {
    const changes = { stock: { add: -1 } }
    const options = { where: { stock: { gte: 1 } } }
    const piece = await this.database.records(Piece).update(1, changes, options)
    if (piece === null) throw soldOut()
    await this.database.records(Order).create({ pieceId: 1 })
    return { remaining: piece.stock }
  }

  async #findAndUpdate(lock: boolean) {
    const pieces = this.database.records(Piece)
    const piece = await pieces.find(1, { lock })
    if (piece === null || piece.stock < 1) throw soldOut()
    await this.database.records(Order).create({ pieceId: 1 })
    await pieces.update(1, { stock: piece.stock - 1 })
    return { remaining: piece.stock - 1 }
  }
}

@Controller('/pieces', { crud: Piece })
@NoAuth
class Pieces {}

@Module({ controllers: [Buying, Pieces], records: [Piece, Order] })
class Shop {}

const server = await startPostgres()
afterAll(() => server.close())

describe('a pool of one connection', () => {
  it('keeps serving callers that wait longer than the connect timeout', async () => {
    const url = `${await server.createDatabase()}?connections=1&connectTimeout=2500`
    const database = await connect(url, { records: [Piece] })
    await database.sync()
    await database.records(Piece).create({ id: 1, stock: 0 })
    // Forty naps take at least three seconds.
    const nap = sql`select pg_sleep(0.075)`
    const pieces = database.records(Piece)
    const waiting = Array.from({ length: 40 }, (_, index) => [
      database.transaction(() => nap.execute(database.kysely)),
      index % 2 === 0 ? pieces.find(1) : pieces.update(1, { stock: { add: 1 } }),
    ])
    await Promise.all(waiting.flat())
    expect(await pieces.find(1)).toMatchObject({ stock: 20 })
    await database.close()
  })

  it('refuses waiting callers when the connection is never released', async () => {
    const url = `${await server.createDatabase()}?connections=1&connectTimeout=2500`
    const database = await connect(url, { records: [Piece] })
    await database.sync()
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let transaction: Promise<void> | undefined
    await new Promise<void>((onStarted) => {
      transaction = database.transaction(() => {
        onStarted()
        return released
      })
    })
    await expect(database.records(Piece).count()).rejects.toMatchObject({ status: 503 })
    release()
    await transaction
    await database.close()
  })
})

const engines = bothEngines(server)

describe.each(engines)('a hundred buyers of ten pieces on %s', (_, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    const settings = { port: 0, host: '127.0.0.1', logger: false, env: {} } as const
    app = await bootstrap(Shop, { ...settings, database: await open() })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    await database.kysely.deleteFrom('piece').execute()
    await database.kysely.deleteFrom('order').execute()
    await database.records(Piece).create({ id: 1, stock: 10 })
  })

  const request = async (method: string, path: string, json?: object, headers = {}) => {
    const type = { 'Content-Type': 'application/json' }
    const sent = json === undefined ? {} : { body: JSON.stringify(json) }
    const url = new URL(path, app.url)
    const response = await fetch(url, { method, headers: { ...type, ...headers }, ...sent })
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      body: await response.text(),
    }
  }
  const get = async (): Promise<[piece: Piece, etag: string]> => {
    const { status, body, etag } = await request('GET', '/pieces/1')
    expect(status).toBe(200)
    return [JSON.parse(body) as Piece, String(etag)]
  }
  const graphql = async (query: string) => {
    const { status, body } = await request('POST', '/graphql', { query })
    expect(status).toBe(200)
    return JSON.parse(body) as {
      data: { piece: Piece }
      errors?: { extensions: { code: string } }[]
    }
  }
  /** A client that checks versions: it retries until its update succeeds or nothing is left. */
  const byVersion = {
    'If-Match': async (): Promise<boolean> => {
      for (;;) {
        const [{ stock }, etag] = await get()
        if (stock < 1) return false
        const change = { stock: stock - 1 }
        const { status } = await request('PATCH', '/pieces/1', change, { 'If-Match': etag })
        if (status === 200) return true
        expect([409, 412]).toContain(status)
      }
    },
    expectedVersion: async (): Promise<boolean> => {
      for (;;) {
        const { stock, version } = (await graphql('{ piece(id: 1) { stock version } }')).data.piece
        if (stock < 1) return false
        const { errors } = await graphql(
          `mutation { updatePiece(id: 1, input: { stock: ${stock - 1} }, expectedVersion: ${version}) { id } }`,
        )
        if (errors === undefined) return true
        expect(['CONFLICT', 'CONFLICT_RETRY']).toContain(errors[0]?.extensions.code)
      }
    },
  }
  it.each(['If-Match', 'expectedVersion'] as const)(
    'sells ten pieces and refuses ninety buyers with %s',
    async (way) => {
      const sold = await Promise.all(Array.from({ length: 100 }, byVersion[way]))
      expect(sold.filter(Boolean)).toHaveLength(10)
      expect(await database.records(Piece).find(1)).toMatchObject({ stock: 0, version: 11 })
    },
  )

  const paths = ['true', 'serializable', 'lock', 'lock-read-committed', 'add']
  it.each(paths)('sells ten pieces and refuses ninety buyers with POST /buy/%s', async (path) => {
    const buying = Array.from({ length: 100 }, () => request('POST', `/buy/${path}`))
    const responses = await Promise.all(buying)
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(responses.filter(({ body }) => body.includes('Sold out.'))).toHaveLength(90)
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toStrictEqual([])
    expect(await database.records(Piece).find(1)).toMatchObject({ stock: 0 })
    expect(await database.records(Order).count()).toBe(10)
  })
})
