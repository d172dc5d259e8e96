/** Mercurius on Fastify with its own loaders; `JIT=1` compiles operations. */
import Fastify from 'fastify'
import mercurius from 'mercurius'
import { announce, cors } from '../contract.mjs'
import { openStore } from '../shop-store.mjs'
import { rootResolvers, typeDefs } from './type-definitions.mjs'

const store = await openStore()
const parentsOf = (queries) =>
  queries.map(({ obj: { id }, params: { limit = 10 } }) => ({ id, limit }))

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})
app.register(mercurius, {
  schema: typeDefs,
  resolvers: rootResolvers(store),
  loaders: {
    Item: {
      category: async (queries) => store.categoriesOf(queries.map(({ obj }) => obj.categoryId)),
      reviews: async (queries) => store.reviewsOf(parentsOf(queries)),
    },
    Category: { items: async (queries) => store.itemsOf(parentsOf(queries)) },
  },
  jit: Number(process.env.JIT ?? 0),
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
