/** Lists in query strings whose items contain commas. Source: decisions, Records: REST. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createClient } from '../../client/index.js'
import {
  bootstrap,
  connect,
  Controller,
  Field,
  Module,
  NoAuth,
  Record as RecordClass,
  type Application,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@RecordClass
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('json') meta!: unknown
}

@Controller('/notes', { crud: Note })
@NoAuth
class NoteController {}

@Module({ controllers: [NoteController], records: [Note] })
class NoteModule {}

const texts = ['0', '0,00', '00', 'a&b']

interface Parameter {
  readonly name: string
  readonly style?: string
  readonly explode?: boolean
}

describe.each(await startBothEngines())('lists in query strings on %s', (_, open) => {
  let app: Application
  beforeAll(async () => {
    const database = await connect(await open(), { records: [Note] })
    await database.sync()
    app = await bootstrap(NoteModule, {
      ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
      database,
    })
    const rows = texts.map((text) => ({ text, meta: { text } }))
    await database.records(Note).createMany(rows)
  })
  afterAll(() => app.close())

  async function find(query: string): Promise<unknown> {
    const response = await app.inject(`/notes?${query}&orderBy=id`)
    if (response.status !== 200) return response.status
    return (response.json() as Note[]).map(({ text }) => text)
  }

  it.each([
    ['text.in=0%2C00', ['0,00']],
    ['text.in=0%2c00', ['0,00']],
    ['text.in=0,00', ['0', '00']],
    ['text.in=0%2C00,00', ['0,00', '00']],
    ['text.in=0%2C00&text.in=00', ['0,00', '00']],
    ['text=0%2C00&text=00', ['0,00', '00']],
    ['text.in=a%26b,0%2C00', ['0,00', 'a&b']],
    ['text.between=0,0%2C00', ['0', '0,00']],
    ['text=0%2C00', ['0,00']],
    ['meta.path=text&meta.in=%220%2C00%22,%22a%26b%22', ['0,00', 'a&b']],
    ['id.in=1%2C3', ['0', '00']],
    ['id.in=1,3', ['0', '00']],
    ['id.between=1%2C2', ['0', '0,00']],
    ['text.in=0%2C00&fields=id%2Ctext', ['0,00']],
  ])('%s finds %j', async (query, found) => {
    expect(await find(query)).toEqual(found)
  })

  it.each([
    ['text.between=0%2C1', 'text.between'],
    ['text.between=0', 'text.between'],
    ['id.between=1%2C2%2C3', 'id.between'],
  ])('%s is refused and names the way to write a list', async (query, name) => {
    const response = await app.inject(`/notes?${query}`)
    const message = `${name} must be a list of 2 values. Repeat the parameter: ${name}=…&${name}=…`
    expect([response.status, response.json()]).toMatchObject([400, { error: message }])
  })

  it('of two values are read from a parameter that is repeated, as URLSearchParams writes it', async () => {
    const parameters = new URLSearchParams([
      ['text.between', '0'],
      ['text.between', '0,00'],
    ])
    expect(await find(parameters.toString())).toEqual(['0', '0,00'])
  })

  it('filter aggregates', async () => {
    const response = await app.inject('/notes/aggregate?count=true&text.in=0%2C00')
    expect(response.json()).toEqual([{ count: 1 }])
  })

  it('are sent correctly by the browser client', async () => {
    const client = createClient({ baseUrl: app.url })
    const params = { 'text.in': ['0,00'], orderBy: 'id' }
    expect(await client.get('/notes', { params })).toMatchObject([{ text: '0,00' }])
    const two = { 'text.in': ['0,00', '00'], orderBy: ['id'] }
    expect(await client.get('/notes', { params: two })).toHaveLength(2)
  })

  it('are sent correctly by a client that follows the OpenAPI document', async () => {
    const document = app.openapi as unknown as {
      paths: Readonly<Record<string, { get: { parameters: Parameter[] } }>>
    }
    const parameter = document.paths['/notes']?.get.parameters.find(
      ({ name }) => name === 'text.in',
    )
    // RFC 6570: items are encoded, their separator is not.
    const { style = 'form', explode = style === 'form' } = parameter ?? {}
    const items = ['0,00', '00'].map(encodeURIComponent)
    const query = explode
      ? items.map((item) => `text.in=${item}`).join('&')
      : `text.in=${items.join()}`
    expect([style, await find(query)]).toEqual(['form', ['0,00', '00']])
  })
})
