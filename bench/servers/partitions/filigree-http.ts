/** The routes of the events, on the database that DATABASE_URL names. No route requires a token. */
import { bootstrap, Controller, Database, Module, NoAuth } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { Event, writeEvents } from './events.mjs'

@Controller('/events', { crud: Event })
@NoAuth
class EventController {}

@Module({ controllers: [EventController], records: [Event] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
const ids = await writeEvents(app.get(Database))
announce(app.url, { ids: ids.slice(0, 500) })
