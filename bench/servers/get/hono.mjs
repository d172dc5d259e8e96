/** Hono on node:http, through its own adapter. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { announce, cors, itemOf } from '../contract.mjs'

const app = new Hono()
app.get('/items/:id{-?[0-9]+}', (context) =>
  context.json(itemOf(Number(context.req.param('id'))), 200, cors),
)
app.notFound((context) => context.json({ error: 'Not found' }, 404, cors))

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  announce(`http://127.0.0.1:${port}`)
})
