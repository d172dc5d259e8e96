/** The TypeScript types of new rows match the validation at run time. Source: docs/records/writes.md. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BeforeWrite,
  BelongsTo,
  connect,
  Field,
  HasMany,
  Record,
  type Database,
  type Generated,
  type NewRow,
  type NewValues,
  type Rel,
  type Repository,
} from 'filigree'

@Record({ timestamps: true, version: true })
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { nullable: true }) note!: string | null
  @Field('string', { optional: true }) place?: string
  @Field('string', { default: 'open' }) status!: Generated<'open' | 'closed'>
  @Field('boolean', { default: false }) urgent!: Generated<boolean>
  @Field('string', { list: true, default: [] }) words!: Generated<string[]>
  @Field('string', { readOnly: true }) slug!: Generated<string>
  @Field('integer') deskId!: number
  @BelongsTo(() => Desk) desk!: Rel<Desk>
  createdAt!: string
  updatedAt!: string
  version!: number

  @BeforeWrite()
  setSlug(): void {
    this.slug = `the-${this.title}`
  }

  get isNew(): boolean {
    return this.version === 1
  }
}

@Record
class Desk {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

@Record({ key: ['hall', 'seat'] })
class Place {
  @Field('string') hall!: string
  @Field('integer') seat!: number
  @Field('string') view!: string
  @HasMany(() => Booking) bookings!: Rel<Booking[]>
}

@Record
class Booking {
  @Field('id') id!: number
  @Field('string') guest!: string
  @Field('string') hall!: string
  @Field('integer') placeSeat!: number
  @BelongsTo(() => Place) place!: Rel<Place>
}

class Body {
  title!: string
  note!: string | null
  deskId!: number
}

describe('the types of new rows', () => {
  let database: Database
  let tickets: Repository<Ticket>
  const newTicket = { title: 'Lamp', note: null, deskId: 1 }
  beforeAll(async () => {
    database = await connect('sqlite::memory:', { records: [Ticket, Desk] })
    await database.sync()
    await database.records(Desk).create({ name: 'first' })
    tickets = database.records(Ticket)
  })
  afterAll(() => database.close())

  it('require only fields that are neither optional nor generated', async () => {
    const ticket = await tickets.create(newTicket)
    expect(ticket).toMatchObject({ status: 'open', urgent: false, words: [], slug: 'the-Lamp' })
    expect(await tickets.insertMany([newTicket, { ...newTicket, status: 'closed' }])).toBe(2)
    expect(await tickets.createMany([newTicket])).toHaveLength(1)
    await tickets.create(Object.assign(new Body(), newTicket))
    const desks = database.records(Desk)
    await desks.create({ name: 'second', tickets: { create: [{ title: 'Nested', note: null }] } })
    await tickets.create({ title: 'With', note: null, desk: { create: { name: 'third' } } })
    expect(await tickets.count()).toBe(7)
  })

  it('do not appear in rows and filters, which use the plain type', async () => {
    const [ticket] = await tickets.list({ where: { status: 'open', words: { has: 'x' } } })
    const status: 'open' | 'closed' = ticket?.status ?? 'closed'
    const words: readonly string[] = ticket?.words ?? []
    expect([status, words]).toStrictEqual(['closed', []])
    await tickets.update(1, { status: 'closed', version: 1 })
    const one: 'closed' | undefined =
      (await tickets.find(1))?.status === 'closed' ? 'closed' : undefined
    expect(one).toBe('closed')
  })

  it('reject missing, misspelt and renamed fields, at run time too', async () => {
    const refused = async (writing: Promise<unknown>, path: string): Promise<void> => {
      await expect(writing).rejects.toMatchObject({ status: 400, errors: [{ path }] })
    }
    // @ts-expect-error -- no title
    await refused(tickets.create({ note: null, deskId: 1 }), 'title')
    // @ts-expect-error -- a nullable field is still required
    await refused(tickets.create({ title: 'Lamp', deskId: 1 }), 'note')
    // @ts-expect-error -- neither the desk nor its key
    await refused(tickets.create({ title: 'Lamp', note: null }), 'deskId')
    // @ts-expect-error -- misspelt
    await tickets.create({ ...newTicket, titel: 'Lamp' }).catch(() => undefined)
    // @ts-expect-error -- no title
    await refused(tickets.insertMany([newTicket, { note: null, deskId: 1 }]), '1.title')
    // @ts-expect-error -- no title
    await refused(tickets.createMany([{ note: null, deskId: 1 }]), '0.title')
    const unnamed = {}
    // @ts-expect-error -- no name
    const nested: NewValues<Ticket> = { title: 'x', note: null, desk: { create: unnamed } }
    await refused(tickets.create(nested), 'desk.create.name')
    // @ts-expect-error -- another type
    await refused(tickets.create({ ...newTicket, urgent: 'yes' }), 'urgent')
    // @ts-expect-error -- not an allowed value
    const row: NewRow<Ticket> = { ...newTicket, status: 'lost' }
    expect(row).toBeDefined()
  })
})

describe('the types of rows with keys of several fields', () => {
  let database: Database
  beforeAll(async () => {
    database = await connect('sqlite::memory:', { records: [Place, Booking] })
    await database.sync()
  })
  afterAll(() => database.close())

  it('do not require the fields of a foreign key next to its relation', async () => {
    const seat = { hall: 'A', seat: 1 }
    const guests = { create: [{ guest: 'Ann' }] }
    await database.records(Place).create({ ...seat, view: 'good', bookings: guests })
    const bookings = database.records(Booking)
    await bookings.create({ guest: 'Bob', place: { connect: seat } })
    await bookings.create({ guest: 'Cid', place: { create: { ...seat, seat: 2, view: 'bad' } } })
    expect(await bookings.list({ orderBy: 'id' })).toMatchObject([
      { guest: 'Ann', hall: 'A', placeSeat: 1 },
      { guest: 'Bob', hall: 'A', placeSeat: 1 },
      { guest: 'Cid', hall: 'A', placeSeat: 2 },
    ])
    // @ts-expect-error -- neither the place nor its key
    await expect(bookings.create({ guest: 'Dan' })).rejects.toMatchObject({ status: 400 })
    // @ts-expect-error -- no guest
    await expect(bookings.create({ place: { connect: seat } })).rejects.toMatchObject({
      status: 400,
    })
  })

  it('name keys by their fields, by rows and by texts', async () => {
    const places = database.records(Place)
    const place = await places.find({ hall: 'A', seat: 1 })
    const keys: Parameters<typeof places.find>[0][] = [
      { hall: 'A', seat: 1 },
      '["A",1]',
      ...(place ? [place] : []),
    ]
    expect(await Promise.all(keys.map((key) => places.find(key)))).toEqual([place, place, place])
    // @ts-expect-error -- another type
    await expect(places.find({ hall: 'A', seat: '1' })).rejects.toMatchObject({ status: 400 })
    // @ts-expect-error -- not a field
    await expect(places.find({ hall: 'A', chair: 1 })).rejects.toMatchObject({ status: 400 })
  })
})
