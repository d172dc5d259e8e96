/** JSON numbers that JavaScript would round are rejected, wherever JSON is read. Source: decisions, Validation and fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  type Application,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'

class Place {
  @Field('json') meta!: unknown
  @Field('numeric', { optional: true }) size?: number
}

@Record()
@NoAuth
@Admin()
class Item {
  @Field('id') id!: number
  @Field('json') meta!: unknown
  @Field(() => Place, { optional: true }) place?: Place
}

class Filter {
  @Field('json') meta!: unknown
}

class Login {
  @Field('string') name!: string
  @Field('string') password!: string
}

@Controller('/items', { crud: Item })
@NoAuth
class Items {}

@Controller('/')
@NoAuth
class Echo {
  @Post('/login', { body: Login }) login(): object {
    return reply({}).freshToken('')
  }
  @Post('/plain') plain(body: unknown): unknown {
    return { body }
  }
  @Post('/form', { body: Filter }) form(body: Filter): unknown {
    return body
  }
  @Get('/query', { query: Filter }) query(query: Filter): unknown {
    return query
  }
}

@Module({
  controllers: [Items, Echo],
  records: [Item],
  imports: [
    admin({ path: '/admin', roles: ['admin'], records: [Item], login: { path: '/login' } }),
  ],
})
class App {}

let app: Application
let token: string
beforeAll(async () => {
  app = await bootstrap(App, {
    ...{ port: 0, host: '127.0.0.1', logger: false, database: 'sqlite::memory:' },
    graphql: { sockets: true },
  })
  token = await app.get(Auth).getToken({ sub: 'ann', roles: ['admin'] })
})
afterAll(() => app.close())

const post = (url: string, body: string, type = 'application/json') =>
  app.inject({ method: 'POST', url, body, headers: { 'content-type': type } })

/** Imports a CSV file with one cell. @returns 400 if the import reports errors, otherwise the status */
const importCell = async (cell: string, check: string): Promise<number> => {
  const response = await app.inject({
    ...{ method: 'POST', url: `/admin/api/csv/items${check}`, token },
    ...{ body: `meta\n${cell}\n`, headers: { 'content-type': 'text/csv' } },
  })
  const { faults = [] } = response.json() as { faults?: readonly unknown[] }
  return faults.length > 0 ? 400 : response.status
}

/** Sends a message on a WebSocket. @returns 400 if the server closes the connection because of it */
const sendMessage = async (message: string): Promise<number> => {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  const closed = once(socket, 'close')
  const acknowledged = once(socket, 'message')
  socket.send('{"type":"connection_init"}')
  await acknowledged
  const answered = once(socket, 'message')
  socket.send(message)
  const [first] = (await Promise.race([answered, closed])) as [unknown]
  socket.close()
  await closed
  return first === 4400 ? 400 : 200
}

type NumberInput = readonly [name: string, send: (number: string) => Promise<number>]

const graphql = async (body: string): Promise<number> => {
  const response = await post('/graphql', body)
  const { errors } = response.json() as { errors?: unknown }
  return response.status === 200 && errors !== undefined ? 400 : response.status
}

const mutation = 'mutation($meta: String!) { createItem(input: { meta: $meta }) { id meta } }'

const inputs: readonly NumberInput[] = [
  ['a body without a class', async (n) => (await post('/plain', `{"a":[${n}]}`)).status],
  ['a field of kind json', async (n) => (await post('/items', `{"meta":{"a":${n}}}`)).status],
  [
    'a nested class',
    async (n) => (await post('/items', `{"meta":{},"place":{"meta":[${n}]}}`)).status,
  ],
  [
    'a number of a nested class',
    async (n) => (await post('/items', `{"meta":{},"place":{"meta":{},"size":${n}}}`)).status,
  ],
  [
    'a form',
    async (n) =>
      (await post('/form', `meta=${encodeURIComponent(n)}`, 'application/x-www-form-urlencoded'))
        .status,
  ],
  ['a query', async (n) => (await app.inject(`/query?meta=${encodeURIComponent(n)}`)).status],
  [
    'a variable of GraphQL that is JSON text',
    (n) => graphql(JSON.stringify({ query: mutation, variables: { meta: `{"a":${n}}` } })),
  ],
  [
    'the body of a GraphQL request',
    (n) => graphql(`{"query":"{ __typename }","variables":{"unused":${n}}}`),
  ],
  [
    'the variables in the address of a GraphQL request',
    async (n) => {
      const variables = encodeURIComponent(`{"unused":${n}}`)
      return (await app.inject(`/graphql?query={__typename}&variables=${variables}`)).status
    },
  ],
  ['a cell of CSV that is JSON, checked', (n) => importCell(`[${n}]`, '?check=true')],
  ['a cell of CSV that is JSON', (n) => importCell(`[${n}]`, '')],
  [
    'a message of a WebSocket',
    (n) =>
      sendMessage(
        `{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":{"unused":${n}}}}`,
      ),
  ],
]

const inexact = [
  ...['9007199254740993', '-9007199254740993', '12345678901234567890', '9007199254740993.0'],
  ...['90071992547409930e-1', '36893488147419103232', '1e400', '-1E+400', '1e-400'],
]
const exact = [
  ...['9007199254740991', '-9007199254740991', '9007199254740992', '1e23', '1.5', '0.1', '0e999'],
  ...['100000000000000000000000', '0.30000000000000004', '1.7976931348623157e308', '5e-324', '-0'],
]

describe.each(inputs)('a number in %s', (_name, send) => {
  it.each(inexact)('is rejected if it would be rounded: %s', async (number) => {
    expect(await send(number)).toBe(400)
  })

  it.each(exact)('is accepted if it is exact: %s', async (number) => {
    expect([200, 201]).toContain(await send(number))
  })
})

it('the error shows the number, shortened', async () => {
  const answer = await post('/plain', `[${'9'.repeat(300)}]`)
  const { error } = answer.json() as { error: string }
  expect(error).toBe(
    `The JSON body has the number ${'9'.repeat(40)}…, which cannot be read exactly. Send it as text.`,
  )
})

it('digits in strings are not changed', async () => {
  const text = String.raw`{"a":"9007199254740993","b":"\"1e999","9007199254740993":"\\"}`
  const answer = await post('/plain', text)
  expect(answer.json()).toEqual({ body: JSON.parse(text) as unknown })
})
