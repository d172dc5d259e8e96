/** Runs the application without a port and prints what it answered, as JSON. */
import { bootstrap, Module, type InjectRequest } from 'filigree'
import { OrderController } from './order-controller.js'
import { OrderStore } from './order-store.js'

@Module({ controllers: [OrderController], providers: [OrderStore] })
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
]

const app = await bootstrap(OrderModule, { listen: false, logger: false })
const answers: unknown[] = []
for (const request of requests) {
  const { status, body } = await app.inject(request)
  answers.push({ status, body })
}
const document = app.openapi
await app.close()
process.stdout.write(JSON.stringify({ answers, schemas: document.components?.schemas }))
