/** A primary with a standby, and an application for the tests of replicas. */
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import {
  BelongsTo,
  Controller,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  Post,
  Record,
  type Rel,
  Secured,
  type Session,
  connect,
  Database,
} from '../../src/index.js'
import { CacheFor } from '../../src/modules/cache/cache.js'
import { startOwnPostgres, type OwnPostgres } from './postgres-server.js'
import { startStandby, type Standby } from './standby-server.js'
import type { DatabaseOptions } from '../public-types.js'

@Record
@NoAuth
export class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Note) notes!: Rel<Note[]>
}

@Record
@NoAuth
export class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer', { optional: true }) shelfId?: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
}

@Controller('/notes')
@NoAuth
export class NoteController {
  static readonly inject = [Database]
  constructor(readonly database: Database) {}

  @Get('/')
  async texts(): Promise<string[]> {
    const notes = await this.database.records(Note).list({ orderBy: { id: 'asc' } })
    return notes.map(({ text }) => text)
  }

  @Get('/cached')
  @CacheFor(60, { by: [] })
  cached(): Promise<number> {
    return this.database.records(Note).count()
  }

  @Post('/')
  async add(body: { text: string }): Promise<number> {
    return (await this.database.records(Note).create(body)).id
  }

  @Post('/guarded')
  @Secured
  guarded(body: { text: string }): Promise<number> {
    return this.add(body)
  }

  @Get('/secret')
  @Secured
  secret(): Promise<number> {
    return this.database.records(Note).count()
  }

  @Get('/seen')
  seen(session: Session): boolean {
    return session.seen === true
  }

  @Post('/session')
  async addBySession(body: { text: string }, session: Session): Promise<void> {
    session.seen = true
    await this.add(body)
  }

  @Post('/count')
  count(): Promise<number> {
    return this.database.records(Note).count()
  }
}

@Module({ controllers: [NoteController], records: [Note, Shelf] })
export class NoteModule {}

export interface ReplicaSetup {
  readonly primary: OwnPostgres
  readonly standby: Standby
  /** The URL of the primary's database, with the tables of the records. */
  readonly url: string
  /** The URL of the same database on the standby. */
  readonly replica: string
  /** Cleanup functions that run after the test. */
  readonly cleanups: (() => Promise<unknown>)[]
}

/** Starts the servers once per suite, with a new database for each test. */
export function startReplicas(): ReplicaSetup {
  const cluster = { cleanups: [] as ReplicaSetup['cleanups'] } as {
    -readonly [K in keyof ReplicaSetup]: ReplicaSetup[K]
  }
  beforeAll(async () => {
    cluster.primary = await startOwnPostgres()
    cluster.standby = await startStandby(cluster.primary)
  })
  afterAll(async () => {
    await cluster.standby.close()
    await cluster.primary.close()
  })
  beforeEach(async () => {
    cluster.url = await cluster.primary.createDatabase()
    cluster.replica = cluster.standby.at(cluster.url)
    const database = await open(cluster, {})
    await database.sync()
    await cluster.standby.caughtUp()
  })
  afterEach(async () => {
    await cluster.standby.resume()
    await Promise.all(cluster.cleanups.splice(0).map((end) => end()))
  })
  return cluster
}

/** Connects with a replica lag limit of one hour by default. */
export async function open(
  { url, cleanups }: ReplicaSetup,
  options: Partial<DatabaseOptions>,
): Promise<Database> {
  const database = await connect(url, {
    records: [Note, Shelf],
    replicaLag: 3_600_000,
    ...options,
  })
  cleanups.push(() => database.close())
  return database
}

/** Creates a note through a separate connection. @returns its id */
export async function writeElsewhere({ url }: ReplicaSetup, text: string): Promise<number> {
  const database = await connect(url, { records: [Note, Shelf] })
  try {
    return (await database.records(Note).create({ text })).id
  } finally {
    await database.close()
  }
}
