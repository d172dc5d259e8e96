/** The responses to writes that violate a constraint are the same on Citus and on plain PostgreSQL, field for field. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'
import { runSql } from '../../records/run-sql.js'
import { citusUrl, openEmptyCitus, runOnCitus } from './coordinator.js'
import { Country, Depot, Item, Part } from './depot.js'

const roof = '0f0e0d0c-0b0a-4908-8706-050403020100'
const wall = '0f0e0d0c-0b0a-4908-8706-050403020101'
const chile = '0f0e0d0c-0b0a-4908-8706-050403020102'
const missing = '0f0e0d0c-0b0a-4908-8706-050403020199'
const train = 'numberOfThePackageThatItCameInByTrain'
const truck = 'numberOfThePackageThatItCameInByTruck'

/** Rules that only the database knows. */
const rules = [
  `update item set code = 'c'`,
  'alter table item alter column code set not null',
  `alter table item add constraint item_note_check check (note <> 'bad')`,
]

async function fill({ database }: Depot): Promise<void> {
  await database.records(Country).create({ id: chile, name: 'Chile' })
  const items = database.records(Item)
  const own = { tenantId: 'a', code: 'c' }
  await items.create({ ...own, id: roof, name: 'Roof', stock: 1, [train]: 'a', [truck]: 'b' })
  await items.create({ ...own, id: wall, name: 'Wall', stock: 1, [train]: 'x', [truck]: 'y' })
  await database.records(Part).create({ tenantId: 'a', id: roof, label: 'Nail', itemId: roof })
}

const upload = (text: string): FormData => {
  const form = new FormData()
  form.set('file', new Blob([text], { type: 'text/csv' }), 'items.csv')
  return form
}

/** A new item, as clients send it. */
const item = (values: object): object => ({ tenantId: 'a', name: 'New', code: 'c', ...values })
const patch = (values: object) => ['PATCH', `/items/${wall}`, values] as const
const create = (values: object) => ['POST', '/items', item(values)] as const
const many = (values: object) =>
  ['POST', '/items/many', { values: { code: 'c', ...values } }] as const
const graphql = (query: string) => ['POST', '/graphql', { query: `mutation { ${query} }` }] as const
const csv = (text: string) => ['POST', '/items/import', upload(text)] as const
type Sent = readonly [method: string, path: string, body: object]

const failures: readonly (readonly [name: string, request: Sent])[] = [
  ['create: a used value', create({ name: 'Roof' })],
  ['create: a used value of a long name', create({ [train]: 'a' })],
  ['create: a used value of another long name', create({ [truck]: 'b' })],
  ['create: a used key', create({ id: roof })],
  ['create: a missing row on every machine', create({ countryId: missing })],
  [
    'create: a missing row of the tenant',
    ['POST', '/parts', { tenantId: 'a', label: 'x', itemId: missing }],
  ],
  ['create: a check', create({ note: 'bad' })],
  ['create: a missing value', create({ code: null })],
  ['update: a used value', patch({ name: 'Roof' })],
  ['update: a used value of a long name', patch({ [truck]: 'b' })],
  ['update: a missing row on every machine', patch({ countryId: missing })],
  ['update: a missing row of the tenant', ['PATCH', `/parts/${roof}`, { itemId: missing }]],
  ['update: a check', patch({ note: 'bad' })],
  ['update: a missing value', patch({ code: null })],
  ['replace: a used value', ['PUT', `/items/${wall}`, item({ name: 'Roof' })]],
  ['delete: a row that is still referred to', ['DELETE', `/items/${roof}`, {}]],
  [
    'delete: a row on every machine that is still referred to',
    ['DELETE', `/countries/${chile}`, {}],
  ],
  ['nested: a used value', patch({ parts: { create: [{ tenantId: 'a', label: 'Nail' }] } })],
  ['nested: a used value in a new tree', create({ parts: [{ tenantId: 'a', label: 'Nail' }] })],
  ['copied: a used value', many({ name: 'Roof' })],
  ['copied: a used value of a long name', many({ [train]: 'a' })],
  ['copied: a used value of another long name', many({ [truck]: 'b' })],
  ['copied: a missing row', many({ countryId: missing })],
  ['copied: a check', many({ note: 'bad' })],
  ['copied: a missing value', many({ code: null })],
  [
    'GraphQL create: a used value',
    graphql('createItem(input: { tenantId: "a", code: "c", name: "Roof" }) { id }'),
  ],
  [
    'GraphQL create of several: a used value of a long name',
    graphql(`createItems(input: [
      { tenantId: "a", code: "c", name: "New" }, { tenantId: "a", code: "c", name: "Newer", ${train}: "a" }
    ]) { id }`),
  ],
  [
    'GraphQL update: a used value',
    graphql(`updateItem(id: "${wall}", input: { name: "Roof" }) { id }`),
  ],
  ['GraphQL update: a check', graphql(`updateItem(id: "${wall}", input: { note: "bad" }) { id }`)],
  [
    'GraphQL update of several: a used value',
    graphql(`updateItems(input: [{ id: "${wall}", name: "Roof" }]) { id }`),
  ],
  [
    'GraphQL upsert: a used value of a long name',
    graphql(
      `upsertItem(by: "name", input: { tenantId: "a", code: "c", name: "Wall", ${truck}: "b" }) { id }`,
    ),
  ],
  [
    'GraphQL upsert: a missing row',
    graphql(
      `upsertItem(by: "name", input: { tenantId: "a", code: "c", name: "Wall", countryId: "${missing}" }) { id }`,
    ),
  ],
  ['GraphQL delete: a row that is still referred to', graphql(`deleteItem(id: "${roof}")`)],
  [
    'GraphQL nested: a used value',
    graphql(
      `updateItem(id: "${wall}", input: { parts: { create: [{ tenantId: "a", label: "Nail" }] } }) { id }`,
    ),
  ],
  ['CSV: a used value', csv('tenantId,name,code\na,Free,c\na,Roof,c\n')],
  ['CSV: a used value of a long name', csv(`tenantId,name,code,${train}\na,Free,c,f\na,New,c,a\n`)],
  ['CSV: a missing row', csv(`tenantId,name,code,countryId\na,New,c,${missing}\n`)],
  ['CSV: a check', csv('tenantId,name,code,note\na,New,c,bad\n')],
  ['CSV: a missing value', csv('tenantId,name\na,New\n')],
]

describe('errors', () => {
  let server: PostgresServer
  let plain: Depot
  let citus: Depot

  beforeAll(async () => {
    server = await startPostgres()
    plain = await Depot.open(await server.createDatabase())
    citus = await Depot.open(await openEmptyCitus())
    for (const depot of [plain, citus]) await fill(depot)
    for (const rule of rules) {
      await runSql(plain.database, rule)
      await runOnCitus(rule)
    }
    for (const depot of [plain, citus])
      await depot.database.records(Item).update(roof, { countryId: chile }, { tenantId: 'a' })
  })
  afterAll(async () => {
    await citus.close()
    await plain.close()
    await server.close()
  })

  it.each(failures)('are the same as on PostgreSQL: %s', async (_, [method, path, body]) => {
    const expected = await plain.send('a', method, path, body)
    expect(JSON.stringify(expected.body)).toMatch(/"path"|still referred to/)
    const { status, body: received } = await citus.send('a', method, path, body)
    expect({ status, body: received }).toStrictEqual({
      status: expected.status,
      body: expected.body,
    })
  })

  it('end no connection', async () => {
    const processes = async (): Promise<readonly unknown[]> =>
      (
        await runOnCitus(`select pid from pg_stat_activity
          where application_name = 'filigree' and datname = current_database()`)
      ).map(({ pid }) => pid)
    const failEach = () =>
      Promise.all(failures.map(([, [method, path, body]]) => citus.send('a', method, path, body)))
    await failEach()
    const before = await processes()
    await failEach()
    expect(await processes()).toEqual(expect.arrayContaining([...before]))
    expect(citusUrl).not.toBe('')
  })
})
