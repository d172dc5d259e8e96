/** A hundred buyers of ten pieces at once, by every way that a program has. Source: decisions, Second storey: rulings, Transactions. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
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
import { startBothEngines } from './both-engines.js'

@Record
class Piece {
  @Field('id') id!: number
  @Field('integer', { min: 0 }) stock!: number
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

  async #findAndUpdate(lock: boolean) {
    const pieces = this.database.records(Piece)
    const piece = await pieces.find(1, { lock })
    if (piece === null || piece.stock < 1) throw soldOut()
    await this.database.records(Order).create({ pieceId: 1 })
    await pieces.update(1, { stock: piece.stock - 1 })
    return { left: piece.stock - 1 }
  }
}

@Module({ controllers: [Buying], records: [Piece, Order] })
class Shop {}

const engines = await startBothEngines()

describe.each(engines)('a hundred buyers of ten pieces on %s', (_, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(Shop, { listen: false, logger: false, database: await open() })
    database = app.get(Database)
  }, 60_000)
  afterAll(() => app.close())
  beforeEach(async () => {
    await database.kysely.deleteFrom('piece').execute()
    await database.kysely.deleteFrom('order').execute()
    await database.records(Piece).create({ id: 1, stock: 10 })
  })

  const paths = ['true', 'serializable', 'lock', 'lock-read-committed']
  it.each(paths)(
    'by /buy/%s: ten buy, ninety are refused',
    async (path) => {
      const buying = Array.from({ length: 100 }, () =>
        app.inject({ method: 'POST', url: `/buy/${path}` }),
      )
      const answers = await Promise.all(buying)
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(10)
      expect(answers.filter(({ body }) => body.includes('Sold out.'))).toHaveLength(90)
      expect(statuses.filter((status) => status !== 200 && status !== 409)).toStrictEqual([])
      expect(await database.records(Piece).find(1)).toMatchObject({ stock: 0 })
      expect(await database.records(Order).count()).toBe(10)
    },
    30_000,
  )
})
