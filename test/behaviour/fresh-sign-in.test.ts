/** `@Secured({ fresh, amr })`: routes and records that require a recent or strong sign-in. Source: decisions, Access to routes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Field,
  Get,
  Module,
  Record,
  Secured,
  type Application,
} from 'filigree'
import { TestClock } from 'filigree/testing'

const apiKey = 'a-key-of-sixteen-letters'

@Record
class Payment {
  @Field('id') id!: number
  @Field('string') to!: string
  @Secured({ fresh: '10m' })
  @Field('string', { default: '-' })
  note!: string
}

@Record
@Secured({ amr: ['mfa', 'hwk'] })
class Secret {
  @Field('id') id!: number
  @Field('string') word!: string
}

@Controller('/money')
class MoneyController {
  @Get('/fresh')
  @Secured({ fresh: '10m' })
  fresh(): string {
    return 'ok'
  }

  @Get('/both')
  @Secured({ roles: ['admin'], fresh: 600, amr: 'mfa' })
  allConditions(): string {
    return 'ok'
  }
}

@Controller('/payments', { crud: Payment })
class PaymentController {}

/** Its decorator is required in addition to the rule of the record. */
@Controller('/secrets', { crud: Secret })
@Secured({ fresh: '10m' })
class SecretController {}

@Module({
  controllers: [MoneyController, PaymentController, SecretController],
  records: [Payment, Secret],
})
class AppModule {}

const clock = new TestClock()
let app: Application
const refusals: string[] = []

beforeAll(async () => {
  const silent = (): void => undefined
  const debug = (details: { reason?: string }): void => void refusals.push(details.reason ?? '')
  app = await bootstrap(AppModule, {
    ...{ listen: false, database: 'sqlite::memory:', env: { APP_API_KEY: apiKey } },
    logger: { error: silent, warn: silent, info: silent, debug } as never,
    override: [[Clock, clock]],
  })
})
afterAll(() => app.close())

function tokenOf(claims: object = {}): Promise<string> {
  return app.get(Auth).getToken({ sub: '7', ...claims }, { expiresIn: '2h' })
}

async function statusOf(url: string, token?: string): Promise<number> {
  return (await app.inject({ url, ...(token === undefined ? {} : { token }) })).status
}

async function graphql(query: string, token?: string): Promise<unknown> {
  const options = { method: 'POST', url: '/graphql', json: { query } } as const
  return (await app.inject({ ...options, ...(token === undefined ? {} : { token }) })).json()
}

it('accepts callers with a recent sign-in by auth_time, which rotation does not change', async () => {
  const token = await tokenOf()
  expect(await statusOf('/money/fresh')).toBe(401)
  expect(await statusOf('/money/fresh', token)).toBe(200)
  await clock.advance('598s')
  expect(await statusOf('/money/fresh', token)).toBe(200)
  await clock.advance('4s')
  expect(await statusOf('/money/fresh', token)).toBe(403)
  expect(refusals.at(-1)).toBe('the sign-in is older than 600 s')
  // The next token of the same sign-in has the same age.
  const claims = await app.get(Auth).verify(token)
  expect(await statusOf('/money/fresh', await tokenOf(claims ?? {}))).toBe(403)
  expect(await statusOf('/money/fresh', await tokenOf())).toBe(200)
  expect(await statusOf('/money/fresh', apiKey)).toBe(200)
})

it('requires roles, freshness and means of sign-in together', async () => {
  const roles = ['admin']
  expect(await statusOf('/money/both', await tokenOf({ roles, amr: ['mfa'] }))).toBe(200)
  expect(await statusOf('/money/both', await tokenOf({ amr: ['mfa'] }))).toBe(403)
  expect(await statusOf('/money/both', await tokenOf({ roles, amr: ['pwd'] }))).toBe(403)
  expect(refusals.at(-1)).toBe('amr mfa is needed, and the token has pwd')
  const before = Math.floor(clock.now() / 1000) - 700
  const oldToken = await tokenOf({ roles, amr: ['mfa'], auth_time: before })
  expect(await statusOf('/money/both', oldToken)).toBe(403)
  expect(await statusOf('/money/both', apiKey)).toBe(200)
})

it('applies to fields and records in crud and GraphQL, in addition to the controller', async () => {
  const created = await app.inject({
    ...{ method: 'POST', url: '/payments', token: apiKey },
    json: { to: 'Ann', note: 'rent' },
  })
  expect(created.status).toBe(201)
  const token = await tokenOf()
  const readPayment = async (with_?: string): Promise<unknown> =>
    (
      await app.inject({ url: '/payments/1', ...(with_ === undefined ? {} : { token: with_ }) })
    ).json()
  expect(await readPayment(token)).toEqual({ id: 1, to: 'Ann', note: 'rent' })
  expect(await graphql('{ payment(id: 1) { note } }', token)).toEqual({
    data: { payment: { note: 'rent' } },
  })
  expect(await statusOf('/payments?note.eq=rent', token)).toBe(200)
  const strong = await tokenOf({ amr: ['hwk'] })
  expect([await statusOf('/secrets', token), await statusOf('/secrets', strong)]).toEqual([
    403, 200,
  ])
  await clock.advance('11m')
  expect(await readPayment(token)).toEqual({ id: 1, to: 'Ann' })
  expect(await graphql('{ payment(id: 1) { note } }', token)).toMatchObject({
    data: { payment: { note: null } },
    errors: [{ extensions: { code: 'FORBIDDEN' } }],
  })
  expect(await statusOf('/payments?note.eq=rent', token)).toBe(403)
  // Only the controller requires freshness, not the record.
  expect(await statusOf('/secrets', strong)).toBe(403)
  expect(await graphql('{ secrets { id } }', strong)).toMatchObject({ data: { secrets: [] } })
  expect(await graphql('{ secrets { id } }', token)).toMatchObject({
    errors: [{ extensions: { code: 'FORBIDDEN' } }],
  })
})

it('is described in the OpenAPI document and in the GraphQL schema', async () => {
  const { paths } = (await app.inject('/swagger/openapi.json')).json() as {
    paths: {
      [path: string]: { get: { description?: string; security: object[]; responses: object } }
    }
  }
  const allConditions = paths['/money/both']?.get
  expect(allConditions?.description).toBe(
    'Needs a sign-in that is at most 10 minutes old and a sign-in by mfa.',
  )
  expect(allConditions?.security).toEqual([{ bearerAuth: ['admin', 'fresh:600', 'amr:mfa'] }])
  expect(Object.keys(allConditions?.responses ?? {})).toContain('403')
  expect(paths['/secrets']?.get.security).toEqual([{ bearerAuth: ['fresh:600', 'amr:mfa|hwk'] }])
  const answer = (await graphql(
    '{ secret: __type(name: "Query") { fields { name description } } payment: __type(name: "Payment") { fields { name description } } }',
    apiKey,
  )) as { data: { [type: string]: { fields: { name: string; description: string }[] } } }
  const descriptionOf = (type: string, field: string): string | undefined =>
    answer.data[type]?.fields.find(({ name }) => name === field)?.description
  expect(descriptionOf('payment', 'note')).toContain(
    'Needs a sign-in that is at most 10 minutes old.',
  )
  expect(descriptionOf('secret', 'secrets')).toContain('Needs a sign-in by mfa or hwk.')
})
