/** Live queries whose database was away. Source: docs/scaling.md, Failover. */
import { afterAll, beforeAll, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
  type Database,
} from '../../src/index.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { startRedirectingProxy, type RedirectingProxy } from '../records/redirecting-proxy.js'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'
import { holdRows, openLive, type Message } from './live-client.js'

@Record
@NoAuth
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
}

@Controller('/tickets', { crud: Ticket })
class TicketController {}

@Module({ controllers: [TicketController], records: [Ticket] })
class TicketModule {}

let server: PostgresServer
let proxy: RedirectingProxy
let app: Application
/** Another process, which does not use the proxy. */
let other: Database
let url: string
const warnings: string[] = []

beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  proxy = await startRedirectingProxy(url)
  const warn = (_: object, message: string): unknown => warnings.push(message)
  app = await bootstrap(TicketModule, {
    port: 0,
    database: proxy.through(url),
    logger: { ...silentLog, warn } as never,
    times: { linger: 20 },
  })
  other = await connect(url, { records: [Ticket] })
})
afterAll(async () => {
  await app.close()
  await other.close()
  await proxy.close()
  await server.close()
})

it('are fresh soon after a long outage in which their runs failed', async () => {
  const live = await openLive(`${app.url}/tickets`)
  const titles = (): readonly unknown[] =>
    holdRows(live.events.map(({ data }) => JSON.parse(data) as Message)).map(
      (row) => (row as unknown as Ticket).title,
    )
  await waitUntil(() => live.events.length > 0)
  // The run after a write fails, because the database is away when it begins.
  const hasFailed = (): boolean => warnings.includes('a live query failed and will be retried')
  for (let number = 0; !hasFailed(); number++) {
    proxy.leadTo(url)
    const write = { method: 'POST', url: '/tickets', json: { title: `${number}` } } as const
    await waitUntil(async () => (await app.inject(write)).status === 201)
    proxy.leadTo(undefined)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  // The delays doubled: after eight seconds of failures, the next run came seven seconds later.
  await new Promise((resolve) => setTimeout(resolve, 8000))
  proxy.leadTo(url)
  await other.records(Ticket).create({ title: 'afterwards' })
  await waitUntil(() => titles().includes('afterwards'), 5000)
  live.leave()
})
