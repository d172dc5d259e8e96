/** The server of `load.ts` and `busy-table.ts`: rooms of messages, and its resource usage. `load-server.ts <database> <port>` */
import {
  ApplicationState,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Module,
  Record as Table,
} from '../../src/index.js'

@Table({ indexes: [{ fields: ['room'] }] })
class Message {
  @Field('id') id!: number
  @Field('integer') room!: number
  @Field('text') text!: string
  @Field('integer', { max: Number.MAX_SAFE_INTEGER }) at!: number
}

@Controller('/messages', { crud: () => Message })
class MessageController {}

/** Records without listeners. */
@Table()
class Note {
  @Field('id') id!: number
  @Field('text') text!: string
}

@Controller('/notes', { crud: () => Note })
class NoteController {}

@Controller('/usage')
class UsageController {
  static inject = [ApplicationState]
  constructor(private readonly state: ApplicationState) {}

  @Get('/')
  read() {
    const { user, system } = process.cpuUsage()
    return { rss: process.memoryUsage.rss(), cpu: (user + system) / 1e6, ...this.state.live }
  }
}

@Module({
  records: [Message, Note],
  controllers: [MessageController, NoteController, UsageController],
})
class StormModule {}

const [database = '', port = '0'] = process.argv.slice(2)
const app = await bootstrap(StormModule, {
  database,
  port: Number(port),
  host: '127.0.0.1',
  logger: false,
  docs: false,
  limits: {
    streams: Infinity,
    streamsByAddress: Infinity,
    connections: Infinity,
    connectionsByAddress: Infinity,
  },
  live: { answers: Infinity, byCaller: Infinity },
  env: { APP_API_KEY: 'k'.repeat(32) },
})
await app.get(Database).sync()
process.stdout.write(`${app.url}\n`)
