/** Everything that belongs to the application. */
import { Module } from 'filigree'
import { health } from 'filigree/health'
import { throttle } from 'filigree/throttle'
import { AccountController } from './accounts.js'
import { Account, Ticket } from './records.js'
import { TicketController } from './tickets.js'

@Module({
  imports: [health(), throttle({ limit: '600/m' })],
  controllers: [AccountController, TicketController],
  records: [Account, Ticket],
})
export class AppModule {}
