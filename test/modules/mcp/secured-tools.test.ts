/** `tools/list` does not name fields that the caller may not read. Source: decisions, Records: access rules. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  BelongsTo,
  Controller,
  Field,
  HasMany,
  Module,
  Post,
  Record,
  Secured,
  type Rel,
} from 'filigree'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { sendRequest, toolsOf } from './mcp-requests.js'

@Record({ search: ['subject', 'salaryNote'] })
class Ticket {
  @Field('id') id!: number
  @Field('string', { description: 'One line. Money belongs in salaryNote.' }) subject!: string
  @Secured('boss') @Field('string', { default: '' }) salaryNote!: string
  @Secured('boss') @Field('integer', { default: 0 }) bonus!: number
  @Field('integer', { nullable: true, optional: true }) teamId?: number | null
  @BelongsTo(() => Team) team?: Rel<Team> | null
  @Field('integer', { nullable: true, optional: true }) revisionId?: number | null
  @BelongsTo(() => TicketUpdate) revision?: Rel<TicketUpdate> | null
}

// Its name looks like an input of tickets.
@Record
class TicketUpdate {
  @Field('id') id!: number
  @Field('string', { default: '' }) label!: string
  @Secured('boss') @Field('integer', { default: 0 }) weight!: number
}

/** Its name begins with the name of a record, but its fields are its own. */
class TicketCreateInput {
  @Field('integer', { description: 'Not the bonus of a ticket.' }) bonus!: number
}

class Payment {
  @Field(() => TicketCreateInput) input!: TicketCreateInput
}

@Record
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('boss') @Field('integer', { default: 0 }) budget!: number
  @Secured('boss') @HasMany(() => Ticket) escalations?: Ticket[]
}

@Tool
@Controller('/tickets', { crud: Ticket })
class TicketController {
  @Post('/quick', { body: Ticket }) quick(body: Ticket): Ticket {
    return body
  }
}

@Tool({ description: 'Updates, without their weight.' })
@Controller('/updates', { crud: TicketUpdate, only: ['list'] })
class UpdateController {}

@Tool
@Controller('/payments')
class PaymentController {
  @Post('/', { body: Payment }) pay(body: Payment): TicketCreateInput {
    return body.input
  }
}

@Tool
@Controller('/teams', { crud: Team })
class TeamController {}

@Module({
  records: [Ticket, Team, TicketUpdate],
  controllers: [TicketController, TeamController, UpdateController, PaymentController],
  imports: [mcp()],
})
class AppModule {}

let desk: TestApplication
let ann: string
let boss: string

beforeAll(async () => {
  desk = await testApplication(AppModule)
  ann = await desk.get(Auth).getToken({ sub: 'ann' })
  boss = await desk.get(Auth).getToken({ sub: 'bob', roles: ['boss'] })
})
afterAll(() => desk.close())

describe('secured fields in tools/list', () => {
  it('are not named to a caller who may not read them', async () => {
    const tools = await toolsOf(desk, ann)
    const text = JSON.stringify(tools.filter(({ name }) => name !== 'paymentPay'))
    expect(text).toContain('subject')
    expect(text).toContain('label')
    expect(text.match(/salaryNote|bonus|budget|escalations|weight/gi)).toBeNull()
  })

  it('leave fields of the same name in classes that are no records', async () => {
    const tools = await toolsOf(desk, ann)
    const pay = tools.find(({ name }) => name === 'paymentPay')
    const input = { type: 'object', required: ['bonus'], properties: { bonus: {} } }
    expect(pay?.inputSchema).toMatchObject({ properties: { input } })
    expect(JSON.stringify(pay)).toContain('Not the bonus of a ticket.')
  })

  it('are named to a caller who may', async () => {
    const text = JSON.stringify(await toolsOf(desk, boss))
    for (const name of ['salaryNote', 'bonus.gte', 'having.sumBonus.gt', 'budget', 'escalations'])
      expect(text).toContain(name)
    for (const name of ['Money belongs in salaryNote.', 'without their weight'])
      expect(text).toContain(name)
  })

  it('leave tools that a caller can use', async () => {
    const tools = await toolsOf(desk, ann)
    const create = tools.find(({ name }) => /create/i.test(name) && /ticket/i.test(name))
    expect(create?.inputSchema).toMatchObject({ required: ['subject'] })
    const params = { name: create?.name, arguments: { subject: 'Printer' } }
    const { result } = await sendRequest(desk, 'tools/call', { token: ann, params })
    expect(result?.structuredContent).toEqual({
      id: 1,
      subject: 'Printer',
      teamId: null,
      revisionId: null,
    })
  })

  it('make the list private: it depends on the caller', async () => {
    const { result } = await sendRequest(desk, 'tools/list', { token: ann })
    expect(result).toMatchObject({ cacheScope: 'private' })
  })
})
