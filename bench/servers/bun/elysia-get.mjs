/** Elysia on `Bun.serve`, with a typed parameter. */
import { Elysia, t } from 'elysia'
import { announce, cors, itemOf } from '../contract.mjs'

const app = new Elysia()
  .headers(cors)
  .onError(({ code, status }) =>
    code === 'NOT_FOUND' ? status(404, { error: 'Not found' }) : status(400, { error: 'Invalid' }),
  )
  .get('/items/:id', ({ params }) => itemOf(params.id), { params: t.Object({ id: t.Integer() }) })
  .listen({ port: 0, hostname: '127.0.0.1' })

announce(`http://127.0.0.1:${app.server.port}`)
