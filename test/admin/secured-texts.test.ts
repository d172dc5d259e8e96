/** The page's schema does not name fields that the caller may not read, in texts either. Source: decisions, Records: access rules. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Field, Module, Record, Secured } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { OpenLogin } from './open-login.js'

@Admin({ help: 'People. Their salary is secret.' })
@Record
class Employee {
  @Field('id') id!: number
  @Field('string', { help: 'Not the salary, which has its own field.' }) note!: string
  @Field('string', { description: 'As in the passport.' }) name!: string
  @Secured('boss') @Field('integer', { default: 0 }) salary!: number
}

@Module({
  records: [Employee],
  controllers: [OpenLogin],
  imports: [
    admin({
      path: '/admin',
      roles: ['admin', 'boss'],
      records: [Employee],
      login: { path: '/login' },
    }),
  ],
})
class AppModule {}

let app: TestApplication
beforeAll(async () => {
  app = await testApplication(AppModule)
})
afterAll(() => app.close())

const schemaFor = async (...roles: string[]) => {
  const { body } = await app.as({ sub: 'ann', roles }).get('/admin/api/schema')
  return JSON.stringify(body)
}

it('leaves out texts that name a field which the caller may not read', async () => {
  const text = await schemaFor('admin')
  expect(text).toContain('As in the passport.')
  expect(text).not.toContain('salary')
})

it('has these texts for a caller who may read the field', async () => {
  const text = await schemaFor('admin', 'boss')
  expect(text).toContain('Their salary is secret.')
  expect(text).toContain('Not the salary, which has its own field.')
})
