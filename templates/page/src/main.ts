/** Starts the application. */
import { bootstrap } from 'filigree'
import { AppModule } from './app-module.js'
import { database } from './database.js'

await bootstrap(AppModule, {
  database,
  // The token is in a cookie that scripts cannot read.
  auth: { cookie: true },
  // Everybody can read the documentation at /swagger. With `true` it requires a token.
  docs: { secured: false },
  // The number of proxies in front of the application.
  trustProxy: 0,
  // The page, and the browser client at /filigree.js.
  static: { '/': './public' },
  client: true,
})
