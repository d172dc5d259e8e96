/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  HttpError,
  Module,
  Page,
  reply,
  type Application,
} from '../../src/index.js'
import { Line, Order, order } from './orders.js'

class Failure {
  @Field('string') error!: string
}

let returned: unknown

@Controller
class OutputController {
  @Get('/one', { returns: Order })
  one() {
    return returned
  }

  @Get('/list', { returns: [Order] })
  list() {
    return returned
  }

  @Get('/page', { returns: Page.of(Line) })
  page() {
    return { items: [{ sku: 'ab', qty: 1, cost: 3 }], total: 9, limit: 1, offset: 0, sql: 'x' }
  }

  @Get('/either', { returns: { 200: Line, 404: Failure } })
  either() {
    return returned
  }
}

@Module({ controllers: [OutputController] })
class OutputModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(OutputModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

describe('Declared output', () => {
  const stored = { ...order, id: 7, secret: 's', rowid: 12, gift: false }
  const sent = { id: 7, customer: 'Ada', price: 9.5, lines: order.lines, gift: false }

  it('returns: only declared fields are sent, with read-only and without hidden ones', async () => {
    returned = stored
    expect((await app.inject('/one')).json()).toEqual(sent)
    returned = reply({ ...stored, lines: [{ sku: 'ab', qty: 2, cost: 1 }] }, 201)
    const answer = await app.inject('/one')
    expect([answer.status, answer.json()]).toEqual([201, sent])
    returned = Promise.resolve(stored)
    expect((await app.inject('/one')).json()).toEqual(sent)
  })

  it('returns: a list is mapped item by item', async () => {
    returned = [stored, stored]
    expect((await app.inject('/list')).json()).toEqual([sent, sent])
    returned = []
    expect((await app.inject('/list')).json()).toEqual([])
  })

  it('returns: Page.of maps the items and adds the counts', async () => {
    expect((await app.inject('/page')).json()).toEqual({
      items: [{ sku: 'ab', qty: 1 }],
      total: 9,
      limit: 1,
      offset: 0,
    })
  })

  it('returns: the class is chosen by status', async () => {
    returned = { sku: 'ab', qty: 1, cost: 2 }
    expect((await app.inject('/either')).json()).toEqual({ sku: 'ab', qty: 1 })
    returned = reply({ error: 'Gone.', stack: 'secret' }, 404)
    const missing = await app.inject('/either')
    expect([missing.status, missing.json()]).toEqual([404, { error: 'Gone.' }])
    returned = reply({ other: 1 }, 202)
    expect((await app.inject('/either')).json()).toEqual({ other: 1 })
  })

  it.each(['/one', '/list', '/either'])('returns: null of %s is 404', async (url) => {
    returned = null
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }])
  })

  it('returns: a returned HttpError is sent as an error', async () => {
    returned = new HttpError(409, 'Taken.')
    const answer = await app.inject('/one')
    expect([answer.status, answer.json()]).toEqual([409, { error: 'Taken.', code: 'CONFLICT' }])
  })

  it('returns: a circular object is a masked 500', async () => {
    const line: Record<string, unknown> = { sku: 'ab' }
    line.qty = line
    returned = line
    const answer = await app.inject('/either')
    expect([answer.status, answer.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
  })
})
