/** Stores orders in memory. */
import { type NewOrder, Order } from './order.js'

export class OrderStore {
  readonly #orders: Order[] = []

  all(): readonly Order[] {
    return this.#orders
  }

  add(values: NewOrder): Order {
    const order = Object.assign(new Order(), values, {
      id: this.#orders.length + 1,
      margin: '12 %',
    })
    this.#orders.push(order)
    return order
  }
}
