/** The application that the reliability scripts drive: records by `crud` and GraphQL, bodies, uploads, sessions, streams. */
import {
  type Application,
  BelongsTo,
  bootstrap,
  type BootstrapOptions,
  Controller,
  Database,
  events,
  Field,
  type Generated,
  Get,
  HasMany,
  Module,
  NoAuth,
  Post,
  Record,
  type Rel,
  type Session,
  type UploadedFiles,
} from '../../src/index.js'

@Record
export class Thing {
  @Field('id') id!: number
  @Field('string', { maxLength: 80 }) name!: string
  @Field('integer', { min: 0, default: 0 }) count!: Generated<number>
}

/** Written together with each thing by `POST /pairs`. One without the other is a partial write. */
@Record
export class Shadow {
  @Field('id') id!: number
  @Field('string', { maxLength: 80 }) name!: string
}

/** Written together with its lines by GraphQL. A basket without its lines is a partial write. */
@Record
export class Basket {
  @Field('id') id!: number
  @Field('string', { maxLength: 80 }) name!: string
  @HasMany(() => Line) lines!: Rel<Line[]>
}

@Record
export class Line {
  @Field('id') id!: number
  @Field('string', { maxLength: 80 }) text!: string
  @Field('integer') basketId!: number
  @BelongsTo(() => Basket, { onDelete: 'cascade' }) basket!: Rel<Basket>
}

export const records = [Thing, Shadow, Basket, Line]

@Controller('/things', { crud: Thing })
@NoAuth
class ThingController {}

class Pair {
  @Field('string', { maxLength: 80 }) name!: string
}

@Controller
class MixedController {
  static inject = [Database]
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  @Get('/fast')
  fast() {
    return { fast: true }
  }

  @Post('/pairs', { body: Pair, args: ['body'] })
  @NoAuth
  pair(body: Pair) {
    const { name } = body
    return this.#database.transaction(async (tx) => {
      const thing = await tx.records(Thing).create({ name })
      await tx.records(Shadow).create({ name })
      return { id: thing.id }
    })
  }

  @Post('/echo', { args: ['body', 'files'] })
  @NoAuth
  echo(body: unknown, files: UploadedFiles) {
    return { type: typeof body, files: Object.keys(files).length }
  }

  @Get('/visit', { args: ['session'] })
  visit(session: Session) {
    session['visits'] = Number(session['visits'] ?? 0) + 1
    return { visits: session['visits'] }
  }

  @Get('/ticks')
  ticks() {
    return events(['one', 'two', 'three'])
  }

  @Post('/secret')
  secret() {
    return { secret: true }
  }
}

@Module({ controllers: [ThingController, MixedController], records })
class ShopModule {}

export const apiKey = 'operator-0123456789abcdef'

export function start(database: string, options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(ShopModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database,
    env: { APP_API_KEY: apiKey },
    limits: { sessionsByAddress: Infinity, requests: Infinity },
    ...options,
  })
}
