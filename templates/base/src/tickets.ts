/** Routes for tickets. */
import { Controller, Database, Get, Secured, type Claims } from 'filigree'
import { Ticket } from './records.js'

/** `crud` adds routes that list, read, create, change and delete rows. Methods add further routes. */
@Controller('/tickets', { crud: Ticket })
@Secured
export class TicketController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/summary')
  async summary(user: Claims | null) {
    const tickets = this.database.records(Ticket)
    const accountId = Number(user?.sub)
    return {
      open: await tickets.count({ accountId, done: false }),
      done: await tickets.count({ accountId, done: true }),
    }
  }
}
