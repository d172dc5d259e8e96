/** Rows with keys of several fields: live queries, the client and the document. Source: decisions, Existing databases and copy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Database, Module, NoAuth, bootstrap, type Application } from 'filigree'
import { createClient } from '../../client/index.js'
import { applyChanges, type ListChanges } from '../../client/row-changes.js'
import { startBothEngines } from '../records/both-engines.js'
import { composites, Sale, SaleLine, Tag } from '../records/composite-records.js'
import { openLive, type LiveClient } from './live-client.js'

@Controller('/lines', { crud: SaleLine })
@NoAuth
class LineController {}

@Controller('/tags', { crud: Tag })
@NoAuth
class TagController {}

@Module({ records: composites, controllers: [LineController, TagController] })
class App {}

describe.each(await startBothEngines())('keys of several fields on %s', (_name, open) => {
  let app: Application
  let saleId: number
  const clients: LiveClient[] = []

  beforeAll(async () => {
    app = await bootstrap(App, {
      ...{ port: 0, host: '127.0.0.1', logger: false },
      database: await open(),
    })
    saleId = (await app.get(Database).records(Sale).create({ customer: 'Ada' })).id
    await app
      .get(Database)
      .records(SaleLine)
      .createMany([
        { saleId, line: 1, product: 'pen' },
        { saleId, line: 2, product: 'ink' },
      ])
  })
  afterAll(async () => {
    for (const client of clients) client.leave()
    await app.close()
  })

  const follow = async (path: string, query?: string): Promise<LiveClient> => {
    const client = await openLive(`${app.url}${path}`, query === undefined ? {} : { query })
    clients.push(client)
    return client
  }

  it('names changed and removed rows by the JSON list of the parts', async () => {
    const client = await follow('/lines?orderBy=-line')
    const first = await client.message()
    let rows = first.data as { line: number }[]
    expect(rows.map(({ line }) => line)).toEqual([2, 1])
    const lines = app.get(Database).records(SaleLine)
    await lines.create({ saleId, line: 3, product: 'nib' })
    const added = await client.message()
    const key = ['saleId', 'line']
    const keys = [3, 2, 1].map((line) => JSON.stringify([saleId, line]))
    expect(added).toMatchObject({ key, set: [{ line: 3 }], gone: [], order: keys })
    rows = applyChanges(rows, added as ListChanges) as typeof rows
    expect(rows.map(({ line }) => line)).toEqual([3, 2, 1])
    await lines.delete({ saleId, line: 2 })
    const removed = await client.message()
    expect(removed).toMatchObject({ key, set: [], gone: [keys[1]] })
    rows = applyChanges(rows, removed as ListChanges) as typeof rows
    expect(rows.map(({ line }) => line)).toEqual([3, 1])
  })

  it('does so in GraphQL, where the parts are selected', async () => {
    const client = await follow('/graphql', 'query @live { tags { country code name } }')
    await client.message()
    await app.get(Database).records(Tag).create({ country: 'DE', code: '1', name: 'a' })
    const { extensions } = (await client.message()) as unknown as { extensions: object }
    expect(extensions).toMatchObject({
      live: { changes: { tags: { key: ['country', 'code'], set: [{ name: 'a' }], gone: [] } } },
    })
    await app.get(Database).records(Tag).delete({ country: 'DE', code: '1' })
    expect(await client.message()).toMatchObject({
      extensions: { live: { changes: { tags: { gone: ['["DE","1"]'] } } } },
    })
  })

  it('reads, changes and deletes by the client', async () => {
    const client = createClient({ baseUrl: app.url })
    const tag = { country: 'a,b/c', code: '9007199254740993', name: 'new' }
    await client.post('/tags', tag)
    const path = { country: tag.country, code: tag.code }
    expect(await client.get('/tags/<country>,<code>', { path })).toEqual(tag)
    expect(await client.patch('/tags/<country>,<code>', { name: 'old' }, { path })).toMatchObject({
      name: 'old',
    })
    await client.delete('/tags/<country>,<code>', { path })
    await expect(client.get('/tags/<country>,<code>', { path })).rejects.toMatchObject({
      status: 404,
    })
    await expect(client.get('/lines/7')).rejects.toMatchObject({ status: 404 })
  })

  it('documents the key in the path as a list with commas', async () => {
    const response = await fetch(`${app.url}/swagger/openapi.json`)
    const { paths } = (await response.json()) as {
      paths: { [path: string]: { [method: string]: { parameters: unknown[] } } }
    }
    for (const method of ['get', 'patch', 'delete'])
      expect(paths['/lines/{id}']?.[method]?.parameters[0]).toEqual({
        name: 'id',
        in: 'path',
        required: true,
        description: 'The key: saleId, line, separated by commas, each percent-encoded.',
        style: 'simple',
        explode: false,
        schema: {
          type: 'array',
          prefixItems: [
            expect.objectContaining({ title: 'saleId', type: 'integer' }),
            expect.objectContaining({ title: 'line', type: 'integer' }),
          ],
          minItems: 2,
          maxItems: 2,
        },
      })
  })
})
