/** A value outside `oneOf` in a filter is 400 at every interface, as a misspelt name is. Source: decisions, Records. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Field, Module, NoAuth, Record, type ExactNumber } from 'filigree'
import { testApplication, type TestApplication } from '../../src/modules/testing/testing.js'
import { startBothEngines } from './both-engines.js'

@Record()
class Ticket {
  @Field('id') id!: number
  @Field('string', { oneOf: ['open', 'closed'] }) status!: 'open' | 'closed'
  @Field('integer', { oneOf: [1, 2, 3] }) level!: number
  @Field('decimal', { precision: 6, scale: 2, oneOf: ['9.50', '12.00'] }) price!: ExactNumber
  @Field('string', { list: true, oneOf: ['red', 'blue'], default: [] }) colors!: string[]
}

@Controller('/tickets', { crud: Ticket })
@NoAuth
class TicketController {}

@Module({ records: [Ticket], controllers: [TicketController] })
class TicketModule {}

describe.each(await startBothEngines())('a filter on a field with oneOf: %s', (_name, address) => {
  let desk: TestApplication
  beforeAll(async () => {
    desk = await testApplication(TicketModule, { database: await address() })
    const row = { status: 'open', level: 2, price: '9.50', colors: ['red'] } as const
    await desk.records(Ticket).create({ ...row, colors: ['red'] })
  })
  afterAll(() => desk.close())

  const get = async (query: string, options?: object): Promise<[number, unknown]> => {
    const { status, body } = await desk.anonymous.get(`/tickets?${query}`, options)
    return [status, (body as { error?: unknown }).error ?? (body as unknown[]).length]
  }

  it('takes the values of the field, in every spelling of their kind', async () => {
    expect(await get('status=open&level.in=2,3&price=9.5&colors.has=red')).toEqual([200, 1])
    expect(await get('status.ne=closed')).toEqual([200, 1])
  })

  it('takes any value as a bound, and any text as a pattern', async () => {
    expect(await get('level.gte=0&level.between=0,9&price.lt=100&status.like=o%25')).toEqual([
      200, 1,
    ])
  })

  it('refuses other values by REST, also for a live query and for aggregates', async () => {
    const refused = [400, 'status must be one of open, closed']
    expect(await get('status=opne')).toEqual(refused)
    expect(await get('status=open&status=opne')).toEqual([
      400,
      'status.1 must be one of open, closed',
    ])
    expect(await get('status.eq=opne')).toEqual([400, 'status.eq must be one of open, closed'])
    expect(await get('status.in=open,opne')).toEqual([
      400,
      'status.in.1 must be one of open, closed',
    ])
    expect(await get('level.ne=4')).toEqual([400, 'level.ne must be one of 1, 2, 3'])
    expect(await get('colors.has=green')).toEqual([400, 'colors.has must be one of red, blue'])
    expect(await get('status=opne', { headers: { accept: 'text/event-stream' } })).toEqual(refused)
    const aggregate = await desk.anonymous.get('/tickets/aggregate?status=opne')
    expect(aggregate.status).toBe(400)
  })

  it('refuses other values by GraphQL', async () => {
    const { body } = await desk.anonymous.post('/graphql', {
      query: '{ tickets(where: { status: { eq: "opne" } }) { id } }',
    })
    expect(JSON.stringify(body)).toContain('must be one of open, closed')
  })

  it('refuses other values of a program, which do not compile either', async () => {
    const tickets = desk.records(Ticket)
    // @ts-expect-error -- not one of the values
    await expect(tickets.list({ where: { status: 'opne' } })).rejects.toMatchObject({ status: 400 })
    await expect(tickets.count({ level: 4 })).rejects.toMatchObject({
      errors: [{ path: 'level', code: 'oneOf' }],
    })
  })

  it('is documented with the values', async () => {
    const { body } = await desk.anonymous.get('/swagger/openapi.json')
    const { paths } = body as { paths: { [path: string]: { get: { parameters: Parameter[] } } } }
    const parameters = paths['/tickets']?.get.parameters ?? []
    const schemaOf = (name: string) => parameters.find((one) => one.name === name)?.schema
    const values = { type: 'string', enum: ['open', 'closed'] }
    expect(schemaOf('status')).toEqual(values)
    expect(schemaOf('status.ne')).toEqual(values)
    expect(schemaOf('status.in')).toEqual({ type: 'array', items: values })
    expect(schemaOf('status.like')).toEqual({ type: 'string' })
    expect(schemaOf('level')).toMatchObject({ enum: [1, 2, 3] })
    expect(schemaOf('level.gte')).not.toHaveProperty('enum')
  })
})

interface Parameter {
  readonly name: string
  readonly schema: unknown
}
