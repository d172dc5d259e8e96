/** `x-open-records` of the document names the records that anonymous callers can read. */
import { expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Module, NoAuth, Record, Secured } from 'filigree'

@Record()
class Article {
  @Field('id') id!: number
}

@Record({ writes: false })
class Account {
  @Field('id') id!: number
}

@Record()
@NoAuth
class Country {
  @Field('id') id!: number
}

@Record({ rows: (user) => user !== null })
class Order {
  @Field('id') id!: number
}

@Record()
@Secured
class Invoice {
  @Field('id') id!: number
}

/** Its controller restricts it, and GraphQL does not. */
@Record()
class Ticket {
  @Field('id') id!: number
}

@Controller('/tickets', { crud: Ticket })
@Secured
class TicketController {}

async function openRecordsOf(
  records: readonly (new () => object)[],
  graphql = true,
): Promise<unknown> {
  const controllers = records.includes(Ticket) ? [TicketController] : []
  @Module({ records, controllers })
  class AppModule {}
  const options = { listen: false, logger: false, env: {}, database: 'sqlite::memory:' } as const
  const app = await bootstrap(AppModule, { ...options, ...(graphql ? {} : { graphql: false }) })
  const { 'x-open-records': open } = (await app.inject('/swagger/openapi.json')).json() as {
    'x-open-records'?: unknown
  }
  await app.close()
  return open
}

it('lists the records that GraphQL or a controller shows to every caller, and separately records without visible rows', async () => {
  const all = [Article, Account, Country, Order, Invoice, Ticket]
  expect(await openRecordsOf(all)).toEqual({
    readable: ['Account', 'Article', 'Country', 'Ticket'],
    withoutRows: ['Order'],
  })
})

it('is absent where nothing is open', async () => {
  expect(await openRecordsOf([Invoice])).toBeUndefined()
  expect(await openRecordsOf([Invoice, Ticket], false)).toBeUndefined()
})
