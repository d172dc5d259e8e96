/** The names of records and of the fields of the sign-in on the admin page. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Controller, Field, Module, NoAuth, Post, Record } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'

@Record({ writes: 'admin' })
@Admin({ label: 'Bestellung', plural: 'Bestellungen' })
class SalesOrder {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ writes: 'admin' })
class PriceList {
  @Field('id') id!: number
}

class Credentials {
  @Field('string', { label: 'Benutzer' }) name!: string
  @Field('string') password!: string
}

@Controller('/login')
class Login {
  @Post('/', { body: Credentials }) @NoAuth signIn(): object {
    return {}
  }
}

const options = { path: '/admin', roles: 'admin', login: { path: '/login' } }

@Module({
  controllers: [Login],
  records: [SalesOrder, PriceList],
  imports: [admin({ ...options, records: [SalesOrder, PriceList] })],
})
class Shop {}

let app: TestApplication
beforeAll(async () => {
  app = await testApplication(Shop)
})
afterAll(() => app.close())

it('names a record by label and plural of @Admin, or by its class', async () => {
  const { body } = await app.as({ sub: 'ann', roles: ['admin'] }).get('/admin/api/schema')
  const { records } = body as { records: { one: string; label: string; path: string }[] }
  expect(records.map(({ one, label, path }) => [one, label, path])).toEqual([
    ['Bestellung', 'Bestellungen', 'salesOrders'],
    ['Price list', 'Price lists', 'priceLists'],
  ])
})

it('names the fields of the sign-in by their labels', async () => {
  const { body } = await app.app.inject({ url: '/admin/api/login' })
  const { fields } = JSON.parse(body) as { fields: { name: string; label?: string }[] }
  expect(fields.map(({ name, label }) => [name, label])).toEqual([
    ['name', 'Benutzer'],
    ['password', undefined],
  ])
})
