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
