/** graphql-ws on the library `ws`. */
import { useServer } from 'graphql-ws/use/ws'
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { listen } from '../contract.mjs'
import { openStore } from '../shop-store.mjs'
import { createExecutableSchema, createLoaders } from './executable-schema.mjs'

const store = await openStore()
const server = createServer()
useServer(
  { schema: createExecutableSchema(store), context: () => ({ loaders: createLoaders(store) }) },
  new WebSocketServer({ server, path: '/graphql' }),
)
listen(server)
