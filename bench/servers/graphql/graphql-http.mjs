/** graphql-http on node:http. */
import { createHandler } from 'graphql-http/lib/use/http'
import { createServer } from 'node:http'
import { cors, listen } from '../contract.mjs'
import { openStore } from '../shop-store.mjs'
import { createExecutableSchema, createLoaders } from './executable-schema.mjs'

const store = await openStore()
const handle = createHandler({
  schema: createExecutableSchema(store),
  context: () => ({ loaders: createLoaders(store) }),
})
const headers = new Map(Object.entries(cors))

const server = createServer((request, response) => {
  response.setHeaders(headers)
  handle(request, response)
})
listen(server)
