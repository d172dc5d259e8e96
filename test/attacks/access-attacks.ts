/** Attacks that read hidden names in documents, schemas and messages. */
import { Controller, Field, Module, Record, Secured, type Generated } from 'filigree'
import { admin } from 'filigree/admin'
import { jobs } from 'filigree/jobs'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { OpenLogin } from '../admin/open-login.js'
import type { Attack } from './attack.js'

@Tool
@Record
class Clerk {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('admin')
  @Field('integer', { default: 0 })
  salary!: Generated<number>
}

/** It is served only by the admin page. */
@Record({ writes: 'admin' })
@Secured('admin')
class Payment {
  @Field('id') id!: number
  @Field('integer') amountPaid!: number
}

@Controller('/clerks', { crud: Clerk })
class Clerks {}

@Module({
  controllers: [Clerks, OpenLogin],
  records: [Clerk],
  imports: [
    admin({ path: '/admin', roles: 'admin', records: [Payment], login: { path: '/login' } }),
    jobs(),
    mcp(),
  ],
})
class Office {}

async function inOffice<T>(attack: (office: TestApplication) => Promise<T>): Promise<T> {
  const office = await testApplication(Office, { graphql: true })
  try {
    return await attack(office)
  } finally {
    await office.close()
  }
}

/** Calls a tool without a token, like a client of an older MCP revision. */
async function callTool(office: TestApplication, name: string, input: object): Promise<string> {
  const params = { name, arguments: input }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const headers = { accept: 'application/json' }
  return (await office.anonymous.post('/mcp', message, { headers })).text
}

export const attacks: readonly Attack[] = [
  {
    name: 'reads the routes of the admin page and the fields of its records in the public OpenAPI document',
    before: 'every route of the admin page, with the names of secured fields',
    run: () =>
      inOffice(async (office) => {
        const { text, body } = await office.anonymous.get('/swagger/openapi.json')
        const paths = Object.keys((body as { paths: object }).paths)
        const found = paths.filter((path) => path.startsWith('/admin'))
        const isBlocked = found.length === 0 && !text.includes('amountPaid')
        return {
          now: `${found.length} of ${paths.length} paths are of the admin page`,
          isBlocked,
        }
      }),
  },
  {
    name: 'looks for records of packages in the public GraphQL schema',
    before: 'AdminEntry, JobEntry and Passkey with all of their fields',
    run: () =>
      inOffice(async (office) => {
        const { data } = await office.anonymous.graphql('{ __schema { types { name } } }')
        const { types } = (data as { __schema: { types: { name: string }[] } }).__schema
        const found = types.filter(({ name }) => /^(?:AdminEntry|JobEntry|Passkey)/.test(name))
        return { now: `${found.length} types of packages`, isBlocked: found.length === 0 }
      }),
  },
  {
    name: 'asks describe of MCP for the fields of a record',
    before: 'the names of secured fields, with filters and aggregates of them',
    run: () =>
      inOffice(async (office) => {
        const text = await callTool(office, 'describe', { record: 'Clerk' })
        const showsSecured = /salary/i.test(text)
        const now = showsSecured ? 'the secured field' : 'the record without the secured field'
        return { now, isBlocked: !showsSecured && text.includes('ClerkWhere') }
      }),
  },
  {
    name: 'misspells a secured field to get its name suggested',
    before: 'Did you mean "salary"?',
    run: () =>
      inOffice(async (office) => {
        const { anonymous } = office
        const caller = office.as({ sub: 'ann' })
        const texts = [
          (await anonymous.get('/clerks?salry.gte=1')).text,
          (await anonymous.get('/clerks?orderBy=salry')).text,
          (await anonymous.get('/clerks?fields=salry')).text,
          (await anonymous.get('/clerks/aggregate?sum=salry')).text,
          (await anonymous.get('/clerks/aggregate?count=true&having.sumSalry.gte=1')).text,
          (await caller.post('/clerks', { name: 'x', salry: 1 })).text,
          JSON.stringify(await anonymous.graphql('{ clerks { salry } }')),
          JSON.stringify(await anonymous.graphql('{ clerks(where: { salry: { eq: 1 } }) { id } }')),
          JSON.stringify(
            await anonymous.graphql('query ($w: ClerkWhere) { clerks(where: $w) { id } }', {
              w: { salry: { eq: 1 } },
            }),
          ),
        ]
        const revealing = texts.filter((text) => /salary/i.test(text))
        return {
          now: `${revealing.length} of ${texts.length} responses name it`,
          isBlocked: revealing.length === 0,
        }
      }),
  },
  {
    name: 'sends names of 200,000 characters to have them repeated',
    before: 'messages that repeat all of them',
    run: () =>
      inOffice(async (office) => {
        const { anonymous } = office
        const caller = office.as({ sub: 'ann' })
        const name = 'n'.repeat(200_000)
        const headers = { accept: 'application/json' }
        const method = { jsonrpc: '2.0', id: 1, method: name }
        const texts = [
          (await caller.post('/clerks', { [name]: 1 })).text,
          JSON.stringify((await anonymous.graphql(`{ ${name} }`)).errors?.[0]?.message),
          JSON.stringify((await anonymous.graphql(`{ clerks(${name}: 1) { id } }`)).errors?.[0]),
          (await anonymous.post('/graphql', { query: '{ clerks { id } }', operationName: name }))
            .text,
          (await anonymous.post('/mcp', method, { headers })).text,
          await callTool(office, name, {}),
          await callTool(office, 'describe', { record: name }),
        ]
        const longest = Math.max(...texts.map(({ length }) => length))
        return { now: `the longest response has ${longest} characters`, isBlocked: longest < 1500 }
      }),
  },
  {
    name: 'sends a message to MCP from a page at another port of the machine',
    before: '200',
    run: () =>
      inOffice(async (office) => {
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
        const headers = { accept: 'application/json', origin: 'http://localhost:5173' }
        const { status } = await office.anonymous.post('/mcp', message, { headers })
        return { now: String(status), isBlocked: status === 403 }
      }),
  },
]
