/** `first` returns the first row of a list or null, in every kind of repository. Source: docs/records/queries.md. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  Record,
  recordsAs,
  type HttpRequest,
  type Rel,
} from 'filigree'
import { testApplication, type TestApplication } from '../../src/modules/testing/testing.js'
import { startBothEngines } from './both-engines.js'

@Record()
class Project {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

@Record<Ticket>({ rows: () => ({ hidden: false }), softDelete: true })
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { oneOf: ['open', 'closed'] }) status!: 'open' | 'closed'
  @Field('boolean', { default: false }) hidden!: boolean
  @Field('integer') projectId!: number
  @BelongsTo(() => Project) project!: Rel<Project>
}

@Controller('/tickets')
@NoAuth
class TicketController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/last')
  async last(request: HttpRequest) {
    const tickets = recordsAs(this.database, Ticket, request)
    const options = { orderBy: '-id', with: ['project'] } as const
    const [listed] = await tickets.list({ ...options, limit: 1 })
    const row = await tickets.first(options)
    const none = await tickets.first({ where: { title: 'hidden' } })
    return { row, listed: listed?.project?.name, none }
  }

  @Get('/unclear')
  async unclear(request: HttpRequest) {
    const where = undefined as never
    return recordsAs(this.database, Ticket, request)
      .first({ where })
      .catch((error: unknown) => ({ rejected: String(error) }))
  }
}

@Module({ records: [Project, Ticket], controllers: [TicketController] })
class TicketModule {}

describe.each(await startBothEngines())('first: %s', (_name, address) => {
  let desk: TestApplication
  beforeAll(async () => {
    desk = await testApplication(TicketModule, { database: await address() })
    const { id } = await desk.records(Project).create({ name: 'Light' })
    const rows = [
      { title: 'a', status: 'open', projectId: id },
      { title: 'b', status: 'closed', projectId: id },
      { title: 'c', status: 'open', projectId: id },
      { title: 'hidden', status: 'closed', projectId: id, hidden: true },
    ] as const
    await desk.records(Ticket).createMany(rows.map((row) => ({ hidden: false, ...row })))
  })
  afterAll(() => desk.close())

  it('returns the first row in an order, with what was asked for', async () => {
    const tickets = desk.records(Ticket)
    const newest = await tickets.first({
      where: { status: 'open' },
      orderBy: ['-title'],
      with: ['project'],
    })
    expect(newest?.project.name).toBe('Light')
    expect(newest?.title).toBe('c')
    expect((await tickets.first())?.title).toBe('a')
    expect((await tickets.first({ orderBy: { title: 'desc' } }))?.title).toBe('hidden')
    const project = await desk.records(Project).first({ counts: ['tickets'] })
    expect(project?.ticketsCount).toBe(4)
  })

  it('returns null if no row matches', async () => {
    expect(await desk.records(Ticket).first({ where: { title: 'none' } })).toBeNull()
  })

  it('sees the rows of its transaction', async () => {
    const database = desk.get(Database)
    await database
      .transaction(async (tx) => {
        await tx.records(Ticket).deleteWhere({})
        expect(await tx.records(Ticket).first()).toBeNull()
        expect(await tx.records(Ticket).first({ withDeleted: true })).not.toBeNull()
        throw new Error('rolled back')
      })
      .catch(() => undefined)
    expect(await desk.records(Ticket).first()).not.toBeNull()
  })

  it('returns only rows that a caller may see', async () => {
    const { body } = await desk.anonymous.get('/tickets/last')
    expect(body).toMatchObject({
      row: { title: 'c', project: { name: 'Light' } },
      listed: 'Light',
      none: null,
    })
  })

  it('rejects a filter that is undefined for a caller too', async () => {
    const { body } = await desk.anonymous.get('/tickets/unclear')
    expect(body).toEqual({ rejected: expect.stringContaining('where is undefined') })
  })

  it('rejects options of lists, unknown fields and a filter that is undefined', async () => {
    const tickets = desk.records(Ticket)
    // @ts-expect-error -- always one row
    await expect(tickets.first({ limit: 1 })).rejects.toThrow('first: unknown option "limit"')
    // @ts-expect-error -- misspelt
    await expect(tickets.first({ orderBy: ['-titel'] })).rejects.toMatchObject({ status: 400 })
    // @ts-expect-error -- undefined
    await expect(tickets.first({ where: undefined })).rejects.toThrow('where is undefined')
  })
})
