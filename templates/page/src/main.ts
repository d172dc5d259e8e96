/** Starts the application. */
import { bootstrap } from 'filigree'
import { AppModule } from './app-module.js'
import { database } from './database.js'

await bootstrap(AppModule, {
  database,
  // The page, and the browser client at /filigree.js.
  static: { '/': './public' },
  client: true,
})
