/** The application in a process of its own, which sends its address to its parent. */
import { bootstrap } from 'filigree'
import { FailoverModule } from './application.js'

const app = await bootstrap(FailoverModule, {
  port: 0,
  host: '127.0.0.1',
  // Each client has an address of its own, as behind a load balancer.
  trustProxy: 1,
  limits: { sessionsByAddress: Infinity, requests: Infinity },
})
process.send?.(app.url)
process.on('disconnect', () => process.exit(0))
