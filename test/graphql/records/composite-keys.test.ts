/** Keys of several fields in GraphQL. Source: decisions, Existing databases and copy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type Database, fromGlobalId, GraphQL, toGlobalId } from '../../../src/index.js'
import { startBothEngines } from '../../records/both-engines.js'
import { composites, Parcel, Sale, SaleLine, Tag } from '../../records/composite-records.js'
import { countStatements } from '../planner/count-statements.js'

/** Beyond the exact integers of JSON. */
const code = '9007199254740993'

describe.each(await startBothEngines())(
  'keys of several fields in GraphQL on %s',
  (_name, open) => {
    let database: Database
    let graphql: GraphQL
    let relay: GraphQL
    let saleId: number

    beforeAll(async () => {
      database = await connect(await open(), { records: composites })
      await database.sync()
      const endpoint = (options: object): GraphQL => {
        const one = new GraphQL({ database, maskErrors: false, ...options })
        for (const type of composites) one.schema.fromOrm(type)
        return one
      }
      graphql = endpoint({})
      const shout = (line: unknown): string => (line as SaleLine).product.toUpperCase()
      graphql.schema.addField('SaleLine', 'shout', {
        ...{ type: 'String', needs: ['product'], resolve: shout },
      })
      relay = endpoint({ relay: true })
      saleId = (await database.records(Sale).create({ customer: 'Ada' })).id
      await database.records(SaleLine).createMany([
        { saleId, line: 1, product: 'pen' },
        { saleId, line: 2, product: 'ink', amount: 5 },
      ])
      await database.records(Parcel).createMany([
        { weight: '1', saleId, line: 1 },
        { weight: '2', saleId, line: 1 },
        { weight: '3', saleId, line: null },
      ])
      await database.records(Tag).create({ country: 'D"E', code, name: 'new' })
    })
    afterAll(() => database.close())

    const run = async (query: string, endpoint = graphql): Promise<unknown> => {
      const { data, errors } = await endpoint.execute(query)
      if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join())
      return data
    }
    /** Planned, and by resolvers: an alias of a page with its nodes is resolved where a fragment on a method is selected. */
    const line = (n: number, selection: string): string =>
      `{ saleline(saleId: ${saleId}, line: ${n}) { ${selection} } }`

    it('finds one row by an argument for each part', async () => {
      expect(await run(line(2, 'saleId line product'))).toEqual({
        saleline: { saleId: String(saleId), line: 2, product: 'ink' },
      })
      expect(await run(line(3, 'product'))).toEqual({ saleline: null })
      expect(await run(`{ saleline(saleId: "x", line: 2) { product } }`)).toEqual({
        saleline: null,
      })
      expect(await run(`{ tag(country: "D\\"E", code: "${code}") { name code } }`)).toEqual({
        tag: { name: 'new', code },
      })
      await expect(run(`{ saleline(line: 2) { product } }`)).rejects.toThrow('"saleId"')
    })

    it('reads relations to it and from it in one statement', async () => {
      const query = `{ sale(id: ${saleId}) { customer lines(limit: 5, orderBy: [{ line: asc }]) {
        line parcelsCount parcels(limit: 5, orderBy: [{ weight: asc }]) {
          weight saleLine { product sale { customer } } } } } }`
      const { result, count } = await countStatements(database, () => run(query))
      expect(count).toBe(1)
      const saleLine = { product: 'pen', sale: { customer: 'Ada' } }
      const parcels = [
        { weight: '1', saleLine },
        { weight: '2', saleLine },
      ]
      expect(result).toEqual({
        sale: {
          customer: 'Ada',
          lines: [
            { line: 1, parcelsCount: 2, parcels },
            { line: 2, parcelsCount: 0, parcels: [] },
          ],
        },
      })
      expect(
        await run('{ parcels(where: { line: { isNull: true } }) { saleLine { line } } }'),
      ).toEqual({ parcels: [{ saleLine: null }] })
    })

    it('reads them by resolvers, in batches', async () => {
      const query = `{ sale(id: ${saleId}) { lines(limit: 5, orderBy: [{ line: asc }]) {
        shout parcelsCount parcels(limit: 5) { weight saleLine { shout } } } } }`
      const { result, count } = await countStatements(database, () => run(query))
      expect(count).toBe(5)
      expect(result).toMatchObject({
        sale: {
          lines: [
            {
              shout: 'PEN',
              parcelsCount: 2,
              parcels: [
                { weight: '1', saleLine: { shout: 'PEN' } },
                { weight: '2', saleLine: { shout: 'PEN' } },
              ],
            },
            { shout: 'INK', parcelsCount: 0, parcels: [] },
          ],
        },
      })
      expect(await run(`{ saleline(saleId: ${saleId}, line: 2) { shout } }`)).toEqual({
        saleline: { shout: 'INK' },
      })
    })

    it('sends events with the JSON list of the parts', async () => {
      const stream = (await graphql.subscribe(
        'subscription { salelineChanged { event id saleline { product } } }',
      )) as AsyncIterableIterator<{ data: { salelineChanged: unknown } }>
      const next = async (): Promise<unknown> => (await stream.next()).value.data.salelineChanged
      const lines = database.records(SaleLine)
      await lines.create({ saleId, line: 40, product: 'nib' })
      const id = JSON.stringify([saleId, 40])
      expect(await next()).toEqual({ event: 'created', id, saleline: { product: 'nib' } })
      await lines.delete({ saleId, line: 40 })
      expect(await next()).toEqual({ event: 'deleted', id, saleline: null })
      await stream.return?.()
    })

    it('filters, sorts, counts and pages by the parts', async () => {
      const where = `where: { saleId: { eq: ${saleId} }, line: { gte: 1 } }`
      expect(
        await run(
          `{ salelines(${where}, orderBy: [{ line: desc }]) { line } salelineCount(${where}) }`,
        ),
      ).toEqual({ salelines: [{ line: 2 }, { line: 1 }], salelineCount: 2 })
      expect(
        await run('{ parcels(where: { saleLine: { product: { eq: "pen" } } }) { weight } }'),
      ).toEqual({ parcels: [{ weight: '1' }, { weight: '2' }] })
      const first = (await run(
        '{ salelinesPage(first: 1) { edges { cursor node { line } } } }',
      )) as { salelinesPage: { edges: [{ cursor: string; node: unknown }] } }
      const [{ cursor, node }] = first.salelinesPage.edges
      expect(node).toEqual({ line: 1 })
      expect(
        await run(
          `{ salelinesPage(first: 1, after: "${cursor}") { edges { node { line } } pageInfo { hasNextPage } } }`,
        ),
      ).toEqual({
        salelinesPage: { edges: [{ node: { line: 2 } }], pageInfo: { hasNextPage: false } },
      })
    })

    it('creates, changes and deletes rows', async () => {
      const key = `saleId: ${saleId}, line: 7`
      expect(
        await run(`mutation { createSaleLine(input: { ${key}, product: "nib" }) { line amount } }`),
      ).toEqual({ createSaleLine: { line: 7, amount: 1 } })
      expect(
        await run(
          `mutation { updateSaleLine(${key}, input: { amount: 3 }) { amount sale { customer } } }`,
        ),
      ).toEqual({ updateSaleLine: { amount: 3, sale: { customer: 'Ada' } } })
      await expect(
        run(`mutation { updateSaleLine(${key}, input: { line: 8 }) { line } }`),
      ).rejects.toThrow('line')
      await expect(
        run(`mutation { updateSaleLine(saleId: ${saleId}, line: 99, input: {}) { line } }`),
      ).rejects.toThrow(`There is no SaleLine ${saleId},99.`)
      expect(await run(`mutation { deleteSaleLine(${key}) }`)).toEqual({ deleteSaleLine: true })
      expect(await run(`mutation { deleteSaleLine(${key}) }`)).toEqual({ deleteSaleLine: false })
    })

    it('writes many rows', async () => {
      const key = (n: number): string => `saleId: ${saleId}, line: ${n}`
      expect(
        await run(`mutation {
        createSaleLines(input: [{ ${key(11)}, product: "a" }, { ${key(10)}, product: "b" }]) { line }
        updateSaleLines(input: [{ ${key(11)}, amount: 4 }, { ${key(10)}, amount: 5 }]) { line amount }
        upsertSaleLine(by: ["saleId", "line"], input: { ${key(10)}, product: "c" }) { amount product }
        deleteSaleLines(ids: [{ ${key(11)} }, { ${key(10)} }, { ${key(12)} }])
      }`),
      ).toEqual({
        createSaleLines: [{ line: 11 }, { line: 10 }],
        updateSaleLines: [
          { line: 11, amount: 4 },
          { line: 10, amount: 5 },
        ],
        upsertSaleLine: { amount: 5, product: 'c' },
        deleteSaleLines: 2,
      })
    })

    it('connects rows by the parts, nested too', async () => {
      const key = `{ saleId: ${saleId}, line: 2 }`
      const created = (await run(
        `mutation { createParcel(input: { weight: "9", saleLine: { connect: ${key} } }) { id line } }`,
      )) as { createParcel: { id: string; line: number } }
      const { id, line } = created.createParcel
      expect(line).toBe(2)
      expect(
        await run(`mutation { updateParcel(id: ${id}, input: { saleLine: { disconnect: true } }) {
        saleId saleLine { line } } }`),
      ).toEqual({ updateParcel: { saleId: null, saleLine: null } })
      expect(
        await run(`mutation { updateSale(id: ${saleId}, input: { lines: [{
        create: [{ line: 20, product: "nib", parcels: [{ weight: "20" }] }]
        update: [{ saleId: ${saleId}, line: 2, amount: 8 }] }] }) {
          lines(where: { line: { gt: 1 } }) { line amount parcels { weight } } } }`),
      ).toEqual({
        updateSale: {
          lines: [
            { line: 2, amount: 8, parcels: [] },
            { line: 20, amount: 1, parcels: [{ weight: '20' }] },
          ],
        },
      })
      expect(
        await run(`mutation { updateSale(id: ${saleId}, input: { lines: [{
        delete: [{ saleId: ${saleId}, line: 20 }] }] }) { linesCount } deleteParcel(id: ${id}) }`),
      ).toEqual({ updateSale: { linesCount: 2 }, deleteParcel: true })
      const tag = `{ country: "D\\"E", code: "${code}" }`
      expect(
        await run(`mutation { updateSaleLine(saleId: ${saleId}, line: 1, input: { tagIds: [${tag}] }) {
        tags { name saleLines { line } } } }`),
      ).toEqual({ updateSaleLine: { tags: [{ name: 'new', saleLines: [{ line: 1 }] }] } })
    })

    describe('with global ids', () => {
      const idOf = (type: string, ...parts: unknown[]): string =>
        toGlobalId(type, JSON.stringify(parts))

      it('writes the key as the JSON list of its parts', async () => {
        const { salelines, tags } = (await run(
          '{ salelines { id saleId line } tags { id } }',
          relay,
        )) as { salelines: { id: string }[]; tags: { id: string }[] }
        const [, saleLine] = salelines
        const [tag] = tags
        expect(saleLine).toEqual({
          id: idOf('SaleLine', saleId, 2),
          saleId: toGlobalId('Sale', saleId),
          line: 2,
        })
        expect(fromGlobalId(tag!.id)).toEqual({ type: 'Tag', id: `["D\\"E","${code}"]` })
        expect(await run(`{ node(id: "${tag!.id}") { id ... on Tag { name } } }`, relay)).toEqual({
          node: { id: tag!.id, name: 'new' },
        })
        expect(
          await run(
            `{ nodes(ids: ["${saleLine!.id}", "${idOf('SaleLine', saleId, 99)}",
          "${idOf('SaleLine', saleId)}", "${tag!.id}"]) { id } }`,
            relay,
          ),
        ).toEqual({ nodes: [{ id: saleLine!.id }, null, null, { id: tag!.id }] })
      })

      it('names rows by the id', async () => {
        const id = idOf('SaleLine', saleId, 2)
        expect(await run(`{ saleline(id: "${id}") { id product } }`, relay)).toEqual({
          saleline: { id, product: 'ink' },
        })
        expect(
          await run(
            `mutation {
          updateSaleLine(id: "${id}", input: { amount: 9 }) { id amount }
          updateSaleLines(input: [{ id: "${id}", amount: 5 }]) { id amount }
          createParcel(input: { weight: "7", saleLine: { connect: "${id}" } }) { line saleLine { id } }
          deleteSaleLine(id: "${idOf('SaleLine', saleId, 99)}")
        }`,
            relay,
          ),
        ).toEqual({
          updateSaleLine: { id, amount: 9 },
          updateSaleLines: [{ id, amount: 5 }],
          createParcel: { line: 2, saleLine: { id } },
          deleteSaleLine: false,
        })
      })
    })
  },
)
