/** Filigree: a record whose list is a live query for clients that ask for events. */
import { bootstrap, Controller, Field, Module, NoAuth, Record } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { firstTicket } from './tickets.mjs'

@Record()
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string') status!: string
}

@Controller('/tickets', { crud: Ticket })
@NoAuth
class TicketController {}

@Module({ controllers: [TicketController], records: [Ticket] })
class AppModule {}

const many = 100_000
const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
  times: { keepAlive: 600_000 },
  limits: {
    connections: many,
    connectionsByAddress: many,
    streams: many,
    streamsByAddress: many,
  },
})
const { title, status } = firstTicket
await fetch(`${app.url}/tickets`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ title, status }),
})
announce(app.url)
