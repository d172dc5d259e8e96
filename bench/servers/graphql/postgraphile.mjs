/** PostGraphile on node:http: its schema comes from the tables, lists without connections, its console and watcher off. */
import { createServer } from 'node:http'
import { grafserv } from 'postgraphile/grafserv/node'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { cors, listen } from '../contract.mjs'

// It asks for Node 22, and misses nothing else on 20.
Promise.withResolvers ??= () => {
  const settled = {}
  settled.promise = new Promise((resolve, reject) => Object.assign(settled, { resolve, reject }))
  return settled
}

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: process.env.DATABASE_URL,
      schemas: ['public'],
      poolConfig: { max: 10 },
    }),
  ],
  schema: { defaultBehavior: 'list -connection' },
  grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false },
  grafast: { explain: false },
})

const headers = new Map(Object.entries(cors))
const server = createServer((request, response) => response.setHeaders(headers))
await instance.createServ(grafserv).addTo(server)
listen(server)
