/** A depot for the suites: items and parts of tenants on the workers, countries everywhere, jobs and history on the coordinator. */
import {
  BelongsTo,
  bootstrap,
  Auth,
  Controller,
  Database,
  Field,
  HasMany,
  HttpError,
  importRows,
  Module,
  NoAuth,
  Post,
  Record,
  recordsAs,
  type Application,
  type Generated,
  type HttpRequest,
  type ImportResult,
  type Log,
  type Rel,
  type UploadedFile,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { idempotent } from 'filigree/idempotent'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { silentLog } from '../../silent-log.js'

@Record
@NoAuth
export class Country {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { unique: true }) name!: string
}

@Record({
  shardBy: 'tenantId',
  version: true,
  constraints: { item_note_check: { status: 422, message: 'The note is bad.', path: 'note' } },
  rows: (user) => user !== null && { tenantId: String(user.tenant) },
})
@Admin({ history: true })
export class Item {
  /** Runs in the transaction of a request, after its writes. */
  static afterWrites: () => Promise<unknown> = () => Promise.resolve()
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) name!: string
  @Field('integer', { min: 0, default: 0 }) stock!: Generated<number>
  @Field('string', { optional: true, nullable: true }) note?: string | null
  @Field('string', { optional: true, nullable: true }) code?: string | null
  @Field('string', { unique: true, optional: true, nullable: true })
  numberOfThePackageThatItCameInByTrain?: string | null
  @Field('string', { unique: true, optional: true, nullable: true })
  numberOfThePackageThatItCameInByTruck?: string | null
  @Field('string', { optional: true, nullable: true }) countryId?: string | null
  @BelongsTo(() => Country) country!: Rel<Country>
  @HasMany(() => Part) parts!: Rel<Part[]>
  version!: number
}

@Record({ shardBy: 'tenantId', rows: (user) => user !== null && { tenantId: String(user.tenant) } })
export class Part {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) label!: string
  @Field('string', { optional: true, nullable: true }) itemId?: string | null
  @BelongsTo(() => Item) item!: Rel<Item>
}

interface Upload {
  readonly file: UploadedFile
}

class Credentials {
  @Field('string') name!: string
}

class Values {
  @Field('json') values!: object
}

class Place {
  @Field('string') tenantId!: string
  @Field('string') id!: string
}

class Slot {
  @Field('string') tenantId!: string
  @Field('string') code!: string
}

class NewWork {
  @Field('string') tenantId!: string
  @Field('string') name!: string
  @Field('boolean', { default: false }) fails!: Generated<boolean>
}

export class Work {
  /** Runs at the beginning of each job. */
  static beforeJob: () => Promise<unknown> = () => Promise.resolve()
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  /** Adds one to the stock of the item. */
  @Job({ body: Place, retries: 20, backoff: '1s' })
  async count({ tenantId, id }: Place): Promise<void> {
    await Work.beforeJob()
    await this.database.records(Item).update(id, { stock: { add: 1 } }, { tenantId })
  }
}

@Controller('/items', { crud: Item })
export class Items {
  static readonly inject = [Database, Jobs]
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  /** The admin page, whose history the suites read, must have one. */
  @Post('/sign-in', { body: Credentials })
  @NoAuth
  signIn(): never {
    throw new HttpError(401)
  }

  @Post('/import')
  import(files: Upload, request: HttpRequest): Promise<ImportResult> {
    return importRows(recordsAs(this.database, Item, request), files.file)
  }

  /** Inserts so many rows that they are copied. One of them has these values. */
  @Post('/many', { body: Values })
  async insertMany(body: Values): Promise<{ rows: number }> {
    const { values } = body
    const rows = Array.from({ length: 200 }, (_, index) => ({
      tenantId: 'a',
      name: `copied ${index}`,
      ...(index === 150 && values),
    }))
    return { rows: await this.database.records(Item).insertMany(rows) }
  }

  /** Takes one from the stock, by the pattern of the documentation: read, check, write. */
  @Post('/take', { body: Place, transaction: true })
  async take(body: Place): Promise<object | null> {
    const { tenantId, id } = body
    const items = this.database.records(Item)
    const found = await items.find(id, { tenantId })
    if (found === null || found.stock < 1) throw new HttpError(409, 'The stock is empty.')
    return items.update(id, { stock: found.stock - 1 }, { tenantId })
  }

  /** The same with a lock, at a level at which it is needed. */
  @Post('/take-locked', { body: Place, transaction: 'read committed' })
  async takeLocked(body: Place): Promise<object | null> {
    const { tenantId, id } = body
    const items = this.database.records(Item)
    const found = await items.find(id, { tenantId, lock: true })
    if (found === null || found.stock < 1) throw new HttpError(409, 'The stock is empty.')
    return items.update(id, { stock: found.stock - 1 }, { tenantId })
  }

  /** Only one item has the code. No index says so. */
  @Post('/reserve', { body: Slot, transaction: true })
  async reserve(body: Slot): Promise<object> {
    const { tenantId, code } = body
    const items = this.database.records(Item)
    if ((await items.count({ tenantId, code })) > 0) throw new HttpError(409, 'The code is taken.')
    return items.create({ tenantId, code, name: crypto.randomUUID() })
  }

  /** Uses two tenants in one transaction. */
  @Post('/pair', { transaction: true })
  async pair(): Promise<object> {
    const items = this.database.records(Item)
    for (const tenantId of ['a', 'b']) await items.create({ tenantId, name: crypto.randomUUID() })
    return {}
  }

  /** Stores an item with a job and its history. */
  @Post('/work', { body: NewWork, transaction: true })
  async addWork(body: NewWork): Promise<object> {
    const { tenantId, name, fails } = body
    const item = await this.database.records(Item).create({ tenantId, name })
    await this.jobs.add(Work, 'count', { tenantId, id: item.id })
    await Item.afterWrites()
    if (fails) throw new HttpError(422, 'It fails.')
    return item
  }
}

@Controller('/parts', { crud: Part })
class Parts {}

@Controller('/countries', { crud: Country })
class Countries {}

@Module({
  controllers: [Items, Parts, Countries],
  providers: [Work],
  records: [Country, Item, Part],
  imports: [
    admin({ path: '/admin', roles: 'admin', records: [Item], login: { path: '/items/sign-in' } }),
    idempotent(),
    jobs({ work: true }),
  ],
})
export class DepotModule {}

export const depotKey = 'k'.repeat(32)

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Headers
}

/** The application on a port, and clients of it. */
export class Depot {
  readonly app: Application
  readonly database: Database
  readonly #tokens = new Map<string, Promise<string>>()

  private constructor(app: Application) {
    this.app = app
    this.database = app.get(Database)
  }

  /** @param url the address of its database */
  static async open(url: string, log: Log = silentLog): Promise<Depot> {
    const app = await bootstrap(DepotModule, {
      port: 0,
      host: '127.0.0.1',
      logger: log,
      database: url,
      graphql: { sockets: true },
      limits: { requests: Infinity, sessionsByAddress: Infinity },
      env: { APP_API_KEY: depotKey, APP_JWT_SECRET: 's'.repeat(32) },
    })
    return new Depot(app)
  }

  token(tenant: string): Promise<string> {
    let token = this.#tokens.get(tenant)
    if (token === undefined) {
      token = this.app.get(Auth).getToken({ sub: `user of ${tenant}`, tenant, roles: ['admin'] })
      this.#tokens.set(tenant, token)
    }
    return token
  }

  /** @param body JSON, or a form */
  async send(
    tenant: string,
    method: string,
    path: string,
    body?: object,
    headers: globalThis.Record<string, string> = {},
  ): Promise<Answer> {
    const isForm = body instanceof FormData
    const response = await fetch(`${this.app.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await this.token(tenant)}`,
        ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return {
      status: response.status,
      body: isJson ? (JSON.parse(text) as unknown) : text,
      headers: response.headers,
    }
  }

  /** Runs a GraphQL document of a tenant's user. */
  graphql(tenant: string, query: string): Promise<Answer> {
    return this.send(tenant, 'POST', '/graphql', { query })
  }

  /** Sends a request again until its response does not ask for it. */
  async sendUntilDone(...request: Parameters<Depot['send']>): Promise<Answer> {
    for (;;) {
      const answer = await this.send(...request)
      if (!answer.headers.has('retry-after')) return answer
    }
  }

  /** @returns the id of a new item of the tenant */
  async addItem(tenantId: string, values: object = {}): Promise<string> {
    const row = { tenantId, name: crypto.randomUUID(), ...values }
    return (await this.database.records(Item).create(row)).id
  }

  close(): Promise<void> {
    return this.app.close()
  }
}
