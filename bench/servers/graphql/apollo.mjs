/** Apollo Server on node:http, by the interface that its manual gives for integrations, without Express between. */
import { ApolloServer, HeaderMap } from '@apollo/server'
import { createServer } from 'node:http'
import { cors, listen } from '../contract.mjs'
import { openStore } from '../shop-store.mjs'
import { createExecutableSchema, createLoaders } from './executable-schema.mjs'

const store = await openStore()
const apollo = new ApolloServer({ schema: createExecutableSchema(store), introspection: false })
await apollo.start()

async function answer(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const headers = new HeaderMap()
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value))
  const {
    status,
    headers: own,
    body,
  } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: request.method,
      headers,
      search: '',
      body: JSON.parse(Buffer.concat(chunks).toString()),
    },
    context: async () => ({ loaders: createLoaders(store) }),
  })
  response.writeHead(status ?? 200, { ...cors, ...Object.fromEntries(own) })
  response.end(body.string)
}

listen(createServer(answer))
