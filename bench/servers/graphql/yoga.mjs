/** GraphQL Yoga on node:http, with its cache of parsed and validated documents. */
import { createYoga } from 'graphql-yoga'
import { createServer } from 'node:http'
import { cors, listen } from '../contract.mjs'
import { openStore } from '../shop-store.mjs'
import { createExecutableSchema, createLoaders } from './executable-schema.mjs'

const store = await openStore()
const yoga = createYoga({
  schema: createExecutableSchema(store),
  context: () => ({ loaders: createLoaders(store) }),
  cors: false,
  graphiql: false,
  landingPage: false,
  logging: false,
})
const headers = new Map(Object.entries(cors))

const server = createServer((request, response) => {
  response.setHeaders(headers)
  yoga(request, response)
})
listen(server)
