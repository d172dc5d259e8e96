/** `labels` of `@Field`: what people read in place of the values of `oneOf`. Source: public API, Records. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Field, Module, NoAuth, Record } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { choicesOf } from '../../client/admin/control-types.js'
import { toFieldText } from '../../client/admin/field-values.js'
import { expandSchema, type CompactSchema, type FieldInfo } from '../../client/admin/schema.js'
import { OpenLogin } from './open-login.js'

@Record
@Admin()
class Job {
  @Field('id') id!: number
  @Field('string', { oneOf: ['new', 'done'], labels: { new: 'Not started' } })
  status!: 'new' | 'done'
  @Field('string', { list: true, oneOf: ['r', 'g'], labels: { r: 'Red', g: 'Green' }, default: [] })
  colors!: string[]
}

@Controller('/jobs', { crud: Job })
@NoAuth
class JobController {}

@Module({
  controllers: [OpenLogin, JobController],
  records: [Job],
  imports: [admin({ path: '/admin', roles: 'clerk', records: [Job], login: { path: '/login' } })],
})
class App {}

describe('labels of choices', () => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(App, { auth: { cookie: true } })
  })
  afterAll(() => app.close())

  const fieldNamed = async (name: string): Promise<FieldInfo> => {
    const { body } = await app.as({ sub: 'ann', roles: ['clerk'] }).get('/admin/api/schema')
    const [job] = expandSchema(body as CompactSchema).records
    return job!.fields.find((field) => field.name === name)!
  }

  it('are what forms, filters and lists of the admin page show', async () => {
    const status = await fieldNamed('status')
    expect(choicesOf(status)).toEqual([
      ['new', 'Not started'],
      ['done', 'done'],
    ])
    expect([toFieldText(status, 'new'), toFieldText(status, 'done')]).toEqual([
      'Not started',
      'done',
    ])
    expect(toFieldText(status, null)).toBe('–')
    expect(toFieldText(await fieldNamed('colors'), ['r', 'g'])).toBe('Red, Green')
  })

  it('are in the descriptions of OpenAPI and GraphQL, and the values stay', async () => {
    const { body } = await app.anonymous.get('/swagger/openapi.json')
    const { components } = body as { components: { schemas: { [name: string]: object } } }
    expect(components.schemas.Job).toMatchObject({
      properties: { status: { enum: ['new', 'done'], description: '`new`: Not started.' } },
    })
    const { data } = await app.anonymous.graphql(
      '{ __type(name: "Job") { fields { name description } } }',
    )
    expect(JSON.stringify(data)).toContain('One of new (Not started), done')
  })
})
