/** Express 5, without the ETag and the X-Powered-By that nobody else makes. */
import express from 'express'
import { createServer } from 'node:http'
import { cors, itemOf, listen } from '../contract.mjs'

const app = express()
app.disable('etag')
app.disable('x-powered-by')
app.use((request, response, next) => {
  response.set(cors)
  next()
})
app.get('/items/:id', (request, response) => {
  const id = Number(request.params.id)
  if (!Number.isSafeInteger(id)) response.status(404).json({ error: 'Not found' })
  else response.json(itemOf(id))
})
app.use((request, response) => {
  response.status(404).json({ error: 'Not found' })
})

listen(createServer(app))
