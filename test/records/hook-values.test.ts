/** `@BeforeWrite` sees the values as they will be stored, for every way of writing. Source: docs/records/writes.md, Hooks. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  AfterWrite,
  Auth,
  BeforeWrite,
  bootstrap,
  BelongsTo,
  Clock,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  HttpError,
  Module,
  Record,
  type Rel,
  type WriteContext,
  type Row,
} from 'filigree'
import { TestClock } from 'filigree/testing'
import { startBothEngines } from './both-engines.js'

class Place {
  @Field('string', { trim: true }) room!: string
  @Field('datetime', { optional: true }) opensAt?: string
}

let seenRows: object[] = []
let changes: string[][] = []
let stamps: object[] = []
let storedStamps: object[] = []

@Record
class Meeting {
  @Field('id') id!: number
  @Field('datetime') startsAt!: string
  @Field('datetime') endsAt!: string
  @Field('decimal', { precision: 10, scale: 2 }) price!: string
  @Field('bigint') code!: string
  @Field('string', { trim: true, lowercase: true, unique: true }) title!: string
  @Field('uuid', { optional: true, nullable: true }) token?: string | null
  @Field(() => Place, { optional: true, nullable: true }) place?: Place | null
  @Field('datetime', { list: true, default: [] }) breaks!: Generated<string[]>
  @Field('integer', { default: 1 }) dayId!: Generated<number>
  @BelongsTo(() => Day) day!: Rel<Day>

  @BeforeWrite()
  see({ changed }: WriteContext<Meeting>) {
    changes.push([...changed].sort())
    seenRows.push({
      startsAt: this.startsAt,
      endsAt: this.endsAt,
      price: this.price,
      code: this.code,
      title: this.title,
      token: this.token,
      place: this.place && Object.assign({}, this.place),
      breaks: this.breaks,
    })
    if (this.endsAt <= this.startsAt) throw new HttpError(400, 'It ends before it begins.')
  }
}

@Record
class Day {
  @Field('id') id!: number
  @Field('string', { default: 'Monday' }) name!: Generated<string>
  @HasMany(() => Meeting) meetings!: Rel<Meeting[]>
  @HasMany(() => Note) notes!: Rel<Note[]>
}

@Record
class Stamp {
  @Field('id') id!: number
  @Field('datetime', { optional: true, nullable: true }) at?: string | null
  @Field('decimal', { scale: 2, default: '0' }) sum!: Generated<string>
  @Field('string', { default: '' }) read!: Generated<string>

  @BeforeWrite()
  write() {
    this.at = new Date('2027-01-05T10:00:00-05:00') as never
    this.sum = '9.5'
  }

  @BeforeWrite()
  readIt() {
    this.read = `${this.at ?? ''} ${this.sum}`
  }
}

@Record({ timestamps: true, version: true })
class Note {
  @Field('id') id!: number
  @Field('string', { unique: true }) title!: string
  @Field('integer', { default: 1 }) dayId!: Generated<number>
  @BelongsTo(() => Day) day!: Rel<Day>
  declare createdAt: string
  declare updatedAt: string
  declare version: number

  @BeforeWrite()
  see({ before, changed }: WriteContext<Note>) {
    stamps.push({ ...stampsOf(this), before: before && stampsOf(before) })
    changes.push([...changed].sort())
  }

  @AfterWrite()
  seeStored({ changed }: WriteContext<Note>) {
    storedStamps.push(stampsOf(this))
    changes.push([...changed].sort())
  }
}

const stampsOf = ({ createdAt, updatedAt, version }: Row<Note>) => ({
  createdAt,
  updatedAt,
  version,
})

@Controller('/meetings', { crud: Meeting })
class Meetings {}

@Controller('/days', { crud: Day })
class Days {}

@Controller('/notes', { crud: Note })
class Notes {}

@Module({ controllers: [Meetings, Days, Notes], records: [Meeting, Day, Stamp, Note] })
class Office {}

const input = {
  dayId: 1,
  startsAt: '2027-01-05T10:00:00-05:00',
  endsAt: '2027-01-05T15:30:00Z',
  price: '9.5',
  code: '007',
  title: '  Tea ',
  token: 'A0000000-0000-4000-8000-00000000000A',
  place: { room: ' A ', opensAt: '2027-01-05T08:00+01:00' },
  breaks: ['2027-01-05T10:15:00-05:00'],
}
const stored = {
  startsAt: '2027-01-05T15:00:00.000Z',
  endsAt: '2027-01-05T15:30:00.000Z',
  price: '9.50',
  code: '7',
  title: 'tea',
  token: 'a0000000-0000-4000-8000-00000000000a',
  place: { room: 'A', opensAt: '2027-01-05T07:00:00.000Z' },
  breaks: ['2027-01-05T15:15:00.000Z'],
}
const old = {
  startsAt: '2027-01-04T10:00:00Z',
  endsAt: '2027-01-04T11:00:00Z',
  price: '1',
  code: '1',
  title: 'old',
}

const creations: { [way: string]: (database: Database, values: typeof input) => Promise<unknown> } =
  {
    create: (database, values) => database.records(Meeting).create(values),
    createMany: (database, values) => database.records(Meeting).createMany([values]),
    insertMany: (database, values) => database.records(Meeting).insertMany([values]),
    upsert: (database, values) => database.records(Meeting).upsert(values, { by: 'title' }),
    'nested create': (database, values) =>
      database.records(Day).update(1, { meetings: { create: [{ ...values, dayId: undefined }] } }),
  }
const updates: { [way: string]: (database: Database, values: typeof input) => Promise<unknown> } = {
  update: (database, values) => database.records(Meeting).update(1, values),
  updateMany: (database, values) => database.records(Meeting).updateMany([{ id: 1, ...values }]),
  updateWhere: (database, values) => database.records(Meeting).updateWhere({ id: 1 }, values),
  'upsert by key': (database, values) =>
    database.records(Meeting).upsert({ id: 1, ...values }, { by: 'id' }),
  'nested update': (database, values) =>
    database
      .records(Day)
      .update(1, { meetings: { update: [{ ...values, id: 1, dayId: undefined }] } }),
}

const engines = await startBothEngines()

describe.each(engines)('a hook before a write, on %s', (_, open) => {
  const clock = new TestClock()
  let app: Application
  let database: Database
  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters' }
    app = await bootstrap(Office, {
      ...{ listen: false, logger: false, database: await open(), env },
      override: [[Clock, clock]],
    })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    for (const table of ['meeting', 'note', 'day', 'stamp'])
      await database.kysely.deleteFrom(table).execute()
    await database.records(Day).create({ id: 1 })
    seenRows = []
    changes = []
    stamps = []
  })
  const send = async (method: string, url: string, json: object) =>
    app.inject({
      ...{ method, url, json },
      headers: { authorization: `Bearer ${await app.get(Auth).getToken({ sub: '1' })}` },
    })
  const read = async (): Promise<unknown> => {
    const [row] = await database.records(Meeting).list({ where: { title: 'tea' } })
    return row && Object.assign({}, row, { place: Object.assign({}, row.place) })
  }

  it.each(Object.entries(creations))('sees a new row as stored: %s', async (_way, write) => {
    await write(database, input)
    expect(seenRows).toEqual([stored])
    expect(await read()).toMatchObject(stored)
  })

  it.each(Object.entries(updates))('sees an updated row as stored: %s', async (_way, write) => {
    await database.records(Meeting).create({ ...old, id: 1, dayId: 1 })
    seenRows = []
    await write(database, input)
    expect(seenRows).toEqual([stored])
    expect(await read()).toMatchObject(stored)
  })

  it('does not list values as changed that differ only in spelling', async () => {
    await database.records(Meeting).create({ ...input, id: 1 })
    changes = []
    for (const update of Object.values(updates)) await update(database, input)
    expect(changes).toEqual([[], [], [], [], []])
  })

  it('compares times across time zones, so every interface rejects an impossible row', async () => {
    // Compared as text, the end would be after the beginning.
    const wrong = {
      ...input,
      startsAt: '2027-01-05T10:00:00-05:00',
      endsAt: '2027-01-05T12:00:00Z',
    }
    expect((await send('POST', '/meetings', wrong)).status).toBe(400)
    expect(
      (await send('POST', '/days', { meetings: { create: [{ ...wrong, dayId: undefined }] } }))
        .status,
    ).toBe(400)
    const text = 'mutation ($input: MeetingInput!) { createMeeting(input: $input) { id } }'
    const variables = { input: { ...wrong, place: undefined } }
    const response = await send('POST', '/graphql', { query: text, variables })
    expect(response.body).toContain('It ends before it begins.')
    for (const create of Object.values(creations))
      await expect(create(database, wrong)).rejects.toMatchObject({ status: 400 })
    await database.records(Meeting).create({ ...old, id: 1, dayId: 1 })
    for (const update of Object.values(updates))
      await expect(update(database, wrong)).rejects.toMatchObject({ status: 400 })
    expect(
      (await send('PATCH', '/meetings/1', { endsAt: '2027-01-04T11:30:00+02:00' })).status,
    ).toBe(400)
  })

  it.each<[string, (note: Row<Note>) => Promise<unknown>]>([
    ['update', ({ id }) => database.records(Note).update(id, { title: 'b' })],
    ['updateMany', ({ id }) => database.records(Note).updateMany([{ id, title: 'b' }])],
    ['updateWhere', ({ id }) => database.records(Note).updateWhere({ id }, { title: 'b' })],
    ['upsert', ({ id }) => database.records(Note).upsert({ id, title: 'b' }, { by: 'id' })],
    [
      'nested update',
      ({ id }) => database.records(Day).update(1, { notes: { update: [{ id, title: 'b' }] } }),
    ],
    ['PATCH', ({ id }) => send('PATCH', `/notes/${id}`, { title: 'b' })],
    [
      'GraphQL',
      ({ id }) =>
        send('POST', '/graphql', {
          query: `mutation { updateNote(id: ${id}, input: { title: "b" }) { id } }`,
        }),
    ],
  ])('sees the time and the version that will be stored: %s', async (_way, write) => {
    const created = await database.records(Note).create({ title: 'a', dayId: 1 })
    const [first] = stamps
    expect(first).toEqual({ ...stampsOf(created), before: null })
    await clock.advance('1s')
    stamps = []
    storedStamps = []
    changes = []
    await write(created)
    const updated = (await database.records(Note).find(created.id)) as Row<Note>
    expect(updated).toMatchObject({ title: 'b', version: 2, createdAt: created.createdAt })
    expect(updated.updatedAt).not.toBe(created.updatedAt)
    expect(stamps).toEqual([{ ...stampsOf(updated), before: stampsOf(created) }])
    expect(storedStamps).toEqual([stampsOf(updated)])
    const changed = ['title', 'updatedAt', 'version']
    expect(changes).toEqual([changed, changed])
  })

  it('sees the current time and version when nothing is written', async () => {
    const created = await database.records(Note).create({ title: 'a', dayId: 1 })
    stamps = []
    changes = []
    await database.records(Note).update(created.id, {})
    expect(stamps).toEqual([{ ...stampsOf(created), before: stampsOf(created) }])
    expect(changes).toEqual([[]])
    expect(await database.records(Note).find(created.id)).toEqual(created)
  })

  it('sees the values that an earlier hook has set, as they will be stored', async () => {
    const read = '2027-01-05T15:00:00.000Z 9.50'
    expect(await database.records(Stamp).create({})).toMatchObject({ read })
    await database.records(Stamp).updateWhere({}, { read: '' })
    expect(await database.records(Stamp).list()).toMatchObject([{ read }])
  })
})
