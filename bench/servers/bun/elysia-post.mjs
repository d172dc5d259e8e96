/** Elysia on `Bun.serve`, told to refuse what it would drop by default, as the others do. */
import { Elysia, t } from 'elysia'
import { announce, cors } from '../contract.mjs'

const Line = t.Object(
  {
    sku: t.String({ minLength: 1, maxLength: 40 }),
    quantity: t.Integer({ minimum: 1, maximum: 1000 }),
    price: t.Number({ minimum: 0 }),
  },
  { additionalProperties: false },
)
const Order = t.Object(
  {
    customer: t.String({ minLength: 1, maxLength: 80 }),
    reference: t.String({ pattern: '^[A-Z]{2}-[0-9]{4,8}$' }),
    total: t.Number({ minimum: 0 }),
    express: t.Boolean(),
    lines: t.Array(Line),
  },
  { additionalProperties: false },
)

const app = new Elysia({ normalize: false })
  .headers(cors)
  .onError(({ status }) => status(400, { error: 'Invalid' }))
  .post('/orders', ({ body }) => body, { body: Order, parse: 'json' })
  .listen({ port: 0, hostname: '127.0.0.1' })

announce(`http://127.0.0.1:${app.server.port}`)
