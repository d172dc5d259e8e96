/** Constraints that an application creates in the database by itself. Source: docs/records/model.md, Constraints of the database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  Module,
  Post,
  Record,
  type Rel,
  Secured,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'

@Record({
  constraints: {
    no_overlap: { status: 409, message: 'The room is taken.', path: 'startsAt' },
    ends_later: { status: 400, message: 'It ends before it begins.', path: 'endsAt' },
    one_code: { status: 422, message: 'The code is used up.', path: 'code' },
    one_badge: { message: 'That badge is in use.', path: 'badge' },
    one_plain: { message: 'Two badges may not share it.', path: 'badge' },
    one_secret: { message: 'That secret is in use.', path: 'secret' },
  },
})
class Booking {
  @Field('id') id!: number
  @Field('integer') roomId!: number
  @BelongsTo(() => Room) room!: Rel<Room>
  @Field('datetime') startsAt!: string
  @Field('datetime') endsAt!: string
  @Field('string', { nullable: true, optional: true }) code?: string | null
  @Field('string', { nullable: true, optional: true }) plain?: string | null
  @Field('string', { nullable: true, optional: true }) other?: string | null
  @Secured('boss')
  @Field('string', { nullable: true, optional: true })
  badge?: string | null
  @Field('string', { nullable: true, optional: true, hidden: true }) secret?: string | null
}

@Record
class Room {
  @Field('id') id!: number
  @Field('string', { default: 'A' }) name!: Generated<string>
  @HasMany(() => Booking) bookings!: Rel<Booking[]>
}

@Controller('/bookings', { crud: Booking })
class Bookings {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/by-handler')
  async make() {
    // The client sends none of these values.
    return this.database.records(Booking).create({ roomId: 1, ...first, endsAt: early })
  }
}

@Controller('/rooms', { crud: Room })
class Rooms {}

@Module({ controllers: [Bookings, Rooms], records: [Booking, Room] })
class Hotel {}

const early = '2026-01-05T09:00:00.000Z'
const first = { startsAt: '2027-01-05T10:00:00.000Z', endsAt: '2027-01-05T11:00:00.000Z' }
const second = { startsAt: '2027-02-05T10:00:00.000Z', endsAt: '2027-02-05T11:00:00.000Z' }

const unique = `create unique index one_code on booking (code);
  create unique index one_badge on booking (badge);
  create unique index one_secret on booking (secret);
  create unique index one_plain on booking (plain);
  create unique index undeclared on booking (other);`

/** SQLite has no exclusion constraints, and cannot add checks to a table. Triggers do both and report the name of the constraint. */
const trigger = (when: string): string => `
  create trigger no_overlap_${when} before ${when} on booking
  when exists (select 1 from booking where room_id = new.room_id and id is not new.id
    and starts_at < new.ends_at and ends_at > new.starts_at)
  begin select raise(abort, 'no_overlap'); end;
  create trigger ends_later_${when} before ${when} on booking when new.ends_at <= new.starts_at
  begin select raise(abort, 'ends_later'); end;`

const constraints: { [engine: string]: string } = {
  SQLite: `${unique}${trigger('insert')}${trigger('update')}`,
  PostgreSQL: `${unique}
    alter table booking add constraint ends_later check (ends_at > starts_at);
    alter table booking add constraint no_overlap exclude using gist
      (int8range(room_id, room_id, '[]') with &&, tstzrange(starts_at, ends_at) with &&);`,
}

const engines = await startBothEngines()

describe.each(engines)('a custom constraint on %s', (engine, open) => {
  let app: Application
  let database: Database
  const logLines: object[] = []
  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters' }
    const write = (line: object): number => logLines.push(line)
    const quiet = (): undefined => undefined
    const logger = {
      trace: quiet,
      debug: write,
      info: quiet,
      warn: quiet,
      error: quiet,
      fatal: quiet,
    }
    app = await bootstrap(Hotel, { listen: false, logger, database: await open(), env })
    database = app.get(Database)
    await runSql(database, constraints[engine] ?? '')
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    await database.records(Booking).deleteWhere({})
    await database.records(Room).deleteWhere({})
    await database.records(Room).create({ id: 1 })
    await database.records(Booking).createMany([
      { roomId: 1, ...first, code: 'a', badge: 'b', secret: 'c', plain: 'p', other: 'o' },
      { roomId: 1, ...second },
    ])
    logLines.length = 0
  })
  const sendWithRoles = async (
    method: string,
    url: string,
    json: object = {},
    roles: string[] = ['boss'],
  ) => {
    const token = await app.get(Auth).getToken({ sub: '1', roles })
    const headers = { authorization: `Bearer ${token}` }
    const { status, body } = await app.inject({ method, url, headers, json })
    return { status, body: JSON.parse(body) as { [name: string]: unknown } }
  }
  const last = async (): Promise<number> => {
    const [row] = await database.records(Booking).list({ orderBy: { id: 'desc' }, limit: 1 })
    return row?.id ?? 0
  }
  const roomTaken = (path: string, code = expect.anything() as unknown) => ({
    error: 'The room is taken.',
    errors: [{ path, code, message: expect.stringContaining('The room is taken.') as unknown }],
  })

  it('reports the declared error over REST', async () => {
    const created = await sendWithRoles('POST', '/bookings', { roomId: 1, ...first })
    expect(created).toMatchObject({ status: 409, body: roomTaken('startsAt') })
    const changed = await sendWithRoles('PATCH', `/bookings/${await last()}`, first)
    expect(changed).toMatchObject({ status: 409, body: roomTaken('startsAt') })
    const reversed = await sendWithRoles('POST', '/bookings', {
      roomId: 1,
      ...first,
      endsAt: early,
    })
    expect(reversed).toMatchObject({
      status: 400,
      body: {
        errors: [{ path: 'endsAt', message: 'It ends before it begins.' }],
      },
    })
    const third = { startsAt: '2027-03-05T10:00:00Z', endsAt: '2027-03-05T11:00:00Z', roomId: 1 }
    const duplicateCode = await sendWithRoles('POST', '/bookings', { ...third, code: 'a' })
    expect(duplicateCode).toMatchObject({ status: 422, body: { error: 'The code is used up.' } })
    const undeclared = await sendWithRoles('POST', '/bookings', { ...third, other: 'o' })
    expect(undeclared.status).toBe(409)
  })

  it('reports nested rows with their path', async () => {
    const created = await sendWithRoles('PATCH', '/rooms/1', { bookings: { create: [first] } })
    expect(created).toMatchObject({
      status: 409,
      body: { errors: [{ path: 'bookings.create.0.startsAt' }] },
    })
  })

  it('reports the declared error over GraphQL', async () => {
    const text = `mutation { createBooking(input: { roomId: 1, startsAt: "${first.startsAt}", endsAt: "${first.endsAt}" }) { id } }`
    const { body } = await sendWithRoles('POST', '/graphql', { query: text })
    expect(JSON.stringify(body)).toContain('The room is taken.')
    expect(body).toMatchObject({ errors: [{ extensions: { code: 'CONFLICT' } }] })
  })

  it('is an error of the client even if the handler wrote the values', async () => {
    const created = await sendWithRoles('POST', '/bookings/by-handler')
    expect(created).toMatchObject({ status: 400, body: { error: 'It ends before it begins.' } })
  })

  it('does not reveal fields that the caller may not read', async () => {
    const third = { startsAt: '2027-03-05T10:00:00Z', endsAt: '2027-03-05T11:00:00Z', roomId: 1 }
    const plain = { ...third, plain: 'p' }
    const visibleError = { error: 'Two badges may not share it.', errors: [{ path: 'badge' }] }
    expect(await sendWithRoles('POST', '/bookings', plain)).toMatchObject({
      status: 409,
      body: visibleError,
    })
    const hiddenError = await sendWithRoles('POST', '/bookings', plain, [])
    expect(hiddenError).toEqual({
      status: 409,
      body: { error: 'Another record is in its way.', code: 'CONFLICT' },
    })
    const text = `mutation { createBooking(input: { roomId: 1, startsAt: "${third.startsAt}", endsAt: "${third.endsAt}", plain: "p" }) { id } }`
    const { body } = await sendWithRoles('POST', '/graphql', { query: text }, [])
    expect(JSON.stringify(body)).not.toContain('adge')
    const id = await last()
    const hidden = database.records(Booking).update(id, { secret: 'c' })
    await expect(hidden).rejects.toMatchObject({
      status: 409,
      message: 'Another record is in its way.',
    })
  })

  it('applies to every method of a repository', async () => {
    const bookings = database.records(Booking)
    const clash = { roomId: 1, ...first }
    const error = { status: 409, message: 'The room is taken.' }
    const id = await last()
    await expect(bookings.create(clash)).rejects.toMatchObject(error)
    await expect(bookings.createMany([clash])).rejects.toMatchObject({ status: 409 })
    await expect(bookings.createMany([clash, clash])).rejects.toMatchObject({ status: 409 })
    await expect(bookings.insertMany([clash, clash])).rejects.toMatchObject(error)
    await expect(bookings.update(id, first)).rejects.toMatchObject(error)
    await expect(bookings.updateMany([{ id, ...first }])).rejects.toMatchObject({ status: 409 })
    await expect(bookings.updateWhere({ id }, first)).rejects.toMatchObject(error)
    await expect(bookings.upsert({ id, ...clash }, { by: 'id' })).rejects.toMatchObject(error)
    expect(await bookings.count()).toBe(2)
  })

  it('is named in the log', async () => {
    await sendWithRoles('POST', '/bookings', { roomId: 1, ...first })
    const [line] = logLines.filter((one) => JSON.stringify(one).includes('no_overlap'))
    expect(line).toMatchObject({
      status: 409,
      reason: expect.stringContaining('no_overlap') as unknown,
    })
  })
})

describe('declared constraints', () => {
  it('are checked at the start', async () => {
    @Record({
      constraints: { a: { status: 200, pat: 'x' } as never, b: { path: 'nme' } },
    })
    class Thing {
      @Field('id') id!: number
      @Field('string') name!: string
    }
    @Module({ records: [Thing] })
    class App {}
    const start = bootstrap(App, { listen: false, logger: false, database: 'sqlite::memory:' })
    await expect(start).rejects.toThrow(
      /constraints\.a: unknown option "pat".*constraints\.a: status.*constraints\.b: path "nme" is not a field/s,
    )
  })
})
