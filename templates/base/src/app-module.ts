/** The parts of the application. */
import { Module } from 'filigree'
import { accessLog } from 'filigree/access-log'
import { admin } from 'filigree/admin'
import { health } from 'filigree/health'
import { securityHeaders } from 'filigree/security-headers'
import { throttle } from 'filigree/throttle'
import { AccountController, SessionController } from './accounts.js'
import { AdministratorController, AdministratorLink, administratorLinks } from './administrators.js'
import { Account, Ticket } from './records.js'
import { TicketController } from './tickets.js'

@Module({
  imports: [
    accessLog(),
    health(),
    securityHeaders(),
    throttle({ limit: '600/m', store: 'database' }),
    admin({
      path: '/admin',
      roles: 'admin',
      records: [Ticket, Account],
      login: { path: '/login' },
    }),
  ],
  controllers: [AccountController, AdministratorController, SessionController, TicketController],
  providers: [AdministratorLink, administratorLinks],
  records: [Account, Ticket],
})
export class AppModule {}
