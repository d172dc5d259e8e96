/** The application of the fire drill: one process of a shop on the built package, configured by `PORT` and `DATABASE_URL`. */
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record,
  type Session,
} from 'filigree'
import { CacheFor } from 'filigree/cache'
import { health } from 'filigree/health'
import { idempotent } from 'filigree/idempotent'
import { metrics } from 'filigree/metrics'
import { Throttle, throttle } from 'filigree/throttle'

@Record
@NoAuth
export class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

class NoteBody {
  @Field('string') text!: string
}

@Controller('/')
class ShopController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/plain') plain() {
    return { plain: true }
  }
  @Get('/rare') @Throttle('2/m') rare() {
    return { rare: true }
  }
  @Get('/kept') @CacheFor('60s') cached() {
    return this.database.records(Note).count()
  }
  @Get('/texts') async texts() {
    const notes = await this.database.records(Note).list()
    return notes.map(({ text }) => text)
  }
  @Post('/notes', { body: NoteBody }) @NoAuth add(body: NoteBody) {
    return this.database.records(Note).create({ text: body.text })
  }
  @Post('/visits') @NoAuth visit(session: Session) {
    const visits = Number(session['visits'] ?? 0) + 1
    session['visits'] = visits
    return { visits }
  }
}

@Module({
  records: [Note],
  controllers: [ShopController],
  imports: [health(), metrics(), throttle({ limit: '100000/m', store: 'database' }), idempotent()],
})
export class ShopModule {}

const app = await bootstrap(ShopModule, { host: '127.0.0.1', logger: false, auth: { keys: false } })
process.send?.(app.url)
