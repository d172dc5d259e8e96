/** `messages` of `@Field`: the application's words for a rule at every interface. Source: decisions, Validation and fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  Database,
  Field,
  GraphQL,
  Module,
  Post,
  Record as Row,
  reply,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { call } from '../modules/mcp/mcp-requests.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { engines } from './desk-fixture.js'
import { OpenLogin } from './open-login.js'

const words = {
  pattern: 'A barcode is S and six digits.',
  required: 'Scan the barcode.',
  unique: 'This tube is here already.',
  min: 'At least 5 µl.',
  type: 'The volume is a whole number of µl.',
}

@Tool({ writes: true })
@Row({ writes: ['desk'] })
@Admin({ title: 'barcode' })
class Tube {
  @Field('id') id!: number
  @Field('string', {
    pattern: /^S\d{6}$/,
    unique: true,
    messages: { pattern: words.pattern, required: words.required, unique: words.unique },
  })
  barcode!: string
  @Field('integer', {
    min: 5,
    messages: { min: (min) => `At least ${min} µl.`, type: words.type },
  })
  volume!: number
}

@Controller('/tubes', { crud: Tube })
class TubeController {}

class Label {
  @Field('string', { pattern: '^L', messages: { pattern: 'A label begins with L.' } }) text!: string
  @Field('integer', { messages: { type: 'Write the copies as a number.' } }) copies!: number
}

@Controller('/labels')
class LabelController {
  @Post('/', { body: Label })
  print(body: Label): object {
    return reply(body, 201)
  }
}

const graphql = new GraphQL()
graphql.schema.fromOrm(Tube)
graphql.registerRoute('/graphql')

@Module({
  controllers: [OpenLogin, LabelController, TubeController],
  records: [Tube],
  graphql: [graphql],
  imports: [
    mcp(),
    admin({ path: '/admin', roles: ['desk'], records: [Tube], login: { path: '/login' } }),
  ],
})
class Laboratory {}

describe.each(engines)('messages of rules on %s', (engine) => {
  let server: PostgresServer | undefined
  let app: TestApplication
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    const where = server === undefined ? {} : { database: await server.createDatabase() }
    app = await testApplication(Laboratory, { ...where, auth: { cookie: true } })
    await app.get(Database).records(Tube).create({ barcode: 'S000001', volume: 9 })
  })
  afterAll(async () => {
    await app.close()
    await server?.close()
  })

  const desk = () => app.as({ sub: 'ann', roles: ['desk'] })

  it.each([
    [{ barcode: 'X1', volume: 9 }, 400, 'pattern', words.pattern],
    [{ volume: 9 }, 400, 'required', words.required],
    [{ barcode: 'S000002', volume: 1 }, 400, 'min', words.min],
    [{ barcode: 'S000002', volume: 'much' }, 400, 'type', words.type],
    [{ barcode: 'S000002', volume: null }, 400, 'type', words.type],
    [{ barcode: 'S000001', volume: 9 }, 409, 'unique', words.unique],
  ])('REST: %j', async (body, status, code, message) => {
    const response = await desk().post('/tubes', body)
    expect([response.status, response.body]).toEqual([
      status,
      expect.objectContaining({
        error: message,
        errors: [{ path: expect.any(String), code, message }],
      }),
    ])
  })

  it('GraphQL', async () => {
    const create = (input: string) =>
      desk().graphql(`mutation { createTube(input: ${input}) { id } }`)
    const refused = await create('{ barcode: "X1", volume: 1 }')
    expect(refused.errors?.[0]).toMatchObject({
      message: `A barcode is S and six digits; ${words.min}`,
      extensions: { code: 'VALIDATION', errors: [{ code: 'pattern' }, { code: 'min' }] },
    })
    const taken = await create('{ barcode: "S000001", volume: 9 }')
    expect(taken.errors?.[0]?.message).toBe(words.unique)
  })

  it('a form', async () => {
    const response = await app.app.inject({
      method: 'POST',
      url: '/labels',
      form: { text: 'x', copies: 'two' },
      headers: {
        authorization: `Bearer ${await app.get(Auth).getToken({ sub: 'ann', roles: ['desk'] })}`,
      },
    })
    expect(response.json()).toMatchObject({
      errors: [
        { path: 'copies', code: 'type', message: 'Write the copies as a number.' },
        { path: 'text', code: 'pattern', message: 'A label begins with L.' },
      ],
    })
  })

  it('CSV', async () => {
    const file = 'barcode,volume\nX1,9\nS000003,much\nS000001,9\nS000004,9\nS000004,9\n'
    const headers = { 'content-type': 'text/csv' }
    const { body } = await desk().post('/admin/api/csv/tubes?check=true', file, { headers })
    expect(body).toMatchObject({
      faults: [
        { row: 2, path: 'barcode', message: words.pattern },
        { row: 3, path: 'volume', message: words.type },
        { row: 4, path: 'barcode', message: words.unique },
        { row: 6, path: 'barcode', message: words.unique },
      ],
    })
  })

  it("the admin page's schema, so that the page needs no request", async () => {
    const { body } = await desk().get('/admin/api/schema')
    expect(JSON.stringify(body)).toContain(JSON.stringify({ min: words.min, type: words.type }))
  })

  it('the errors of programs', async () => {
    const tubes = app.get(Database).records(Tube)
    await expect(tubes.create({ barcode: 'X1', volume: 9 })).rejects.toThrow(words.pattern)
    await expect(tubes.update(1, { volume: 1 })).rejects.toThrow(words.min)
  })

  it('MCP', async () => {
    const query = 'mutation { createTube(input: { barcode: "X1", volume: 9 }) { id } }'
    const token = await app.get(Auth).getToken({ sub: 'ann', roles: ['desk'] })
    const { result } = await call(app, 'query', { query }, { token })
    expect(JSON.stringify(result)).toContain(words.pattern)
  })
})
