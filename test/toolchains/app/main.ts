/** Runs the application without a port and prints its responses as JSON. */
import { bootstrap, Module, type InjectRequest } from 'filigree'
import { OrderController } from './order-controller.js'
import { OrderStore } from './order-store.js'
import { Lamp, LampController, Shelf, ShelfController } from './shop.js'

@Module({
  controllers: [OrderController, LampController, ShelfController],
  providers: [OrderStore],
  records: [Shelf, Lamp],
})
class OrderModule {}

const lamp = { customer: 'Ada', lines: [{ sku: 'lamp', qty: 2 }] }
const requests: InjectRequest[] = [
  { method: 'POST', url: '/orders', json: lamp },
  {
    method: 'POST',
    url: '/orders',
    token: 'key',
    json: { ...lamp, mail: 'ada@example.org', copies: 3 },
  },
  {
    method: 'POST',
    url: '/orders',
    token: 'key',
    json: { customer: 5, express: 'false', lines: [{ qty: 0 }], mial: '' },
  },
  {
    method: 'POST',
    url: '/orders',
    token: 'key',
    json: { ...lamp, id: 5, margin: '1 %', mail: 'x' },
  },
  { method: 'POST', url: '/orders/labels', json: lamp },
  { method: 'GET', url: '/orders/1' },
  { method: 'GET', url: '/orders/x' },
  { method: 'GET', url: '/orders?express=0&tag=a&tag=b' },
  { method: 'GET', url: '/orders?limit=1e3&express=no' },
  {
    method: 'POST',
    url: '/graphql',
    token: 'key',
    json: { query: 'mutation { createShelf(input: { name: "top" }) { id } }' },
  },
  {
    method: 'POST',
    url: '/lamps',
    token: 'key',
    json: { name: 'Blue', price: 5, shelfId: 1 },
  },
  { method: 'POST', url: '/lamps', token: 'key', json: { name: 'Red', price: -1, supplier: 'x' } },
  { method: 'GET', url: '/shelves' },
  {
    method: 'POST',
    url: '/graphql',
    json: { query: '{ lamps { name twice shelf { name } } shelf(id: 1) { lamps { price } } }' },
  },
]

const app = await bootstrap(OrderModule, {
  listen: false,
  logger: false,
  database: 'sqlite::memory:',
})
const answers: unknown[] = []
for (const request of requests) {
  const { status, body } = await app.inject(request)
  // Timestamps differ from run to run.
  answers.push({ status, body: body.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'now') })
}
const document = app.openapi
await app.close()
process.stdout.write(JSON.stringify({ answers, schemas: document.components?.schemas }))
