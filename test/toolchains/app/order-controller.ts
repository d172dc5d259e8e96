/** A controller with explicit dependencies and argument names, for compilers that emit no types or shorten names. */
import { Controller, Get, HttpError, NoAuth, Post, reply, type Reply } from 'filigree'
import { NewOrder, Order, OrderPage, OrderQuery } from './order.js'
import { OrderStore } from './order-store.js'

@Controller('/orders')
export class OrderController {
  static readonly inject = [OrderStore]
  readonly #orders: OrderStore

  constructor(orders: OrderStore) {
    this.#orders = orders
  }

  @Get('/', { query: OrderQuery, returns: OrderPage, args: ['query'] })
  list(query: OrderQuery): object {
    const { limit } = query
    return { items: this.#orders.all(), total: this.#orders.all().length, limit, offset: 0, query }
  }

  @Get('/<id:int>', { returns: Order, args: ['id'] })
  show(id: number): Order {
    const order = this.#orders.all().find((one) => one.id === id)
    if (order === undefined) throw new HttpError(404, `There is no order ${id}.`)
    return order
  }

  @Post('/', { body: NewOrder, returns: Order, args: ['body'] })
  create(body: NewOrder): Reply {
    return reply(this.#orders.add(body), 201)
  }

  @Post('/labels', { body: () => NewOrder, args: ['body'] })
  @NoAuth
  labels(body: NewOrder): string[] {
    return body.lines.map(({ label }) => label)
  }
}
