import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, connect, type Application, type Database } from 'filigree'
import { startBothEngines } from './both-engines.js'
import { OpenShop } from './open-shop.js'
import { Category, Product, shop } from './shop.js'

const engines = await startBothEngines()

describe.each(engines)('pages of crud lists on %s', (_name, open) => {
  let database: Database
  let app: Application
  beforeAll(async () => {
    database = await connect(await open(), { records: shop })
    app = await bootstrap(OpenShop, { listen: false, logger: false, database })
    const categories = Array.from({ length: 12_000 }, (_, index) => ({ name: `c${index}` }))
    await database.records(Category).insertMany(categories)
    await database.records(Product).insertMany(
      Array.from({ length: 60 }, (_, index) => ({
        name: `p${index % 7}`,
        price: index % 5,
        categoryId: 1 + (index % 3),
        stock: index % 4 === 0 ? null : index % 6,
      })),
    )
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (url: string) => {
    const { status, headers, body } = await app.inject({ url })
    const rows = JSON.parse(body) as { id: number }[]
    const link = headers.link
    return { status, headers, rows, next: /^<(.*)>; rel="next"$/.exec(link ?? '')?.[1] }
  }

  it.each(['', 'price', '-price', 'stock', '-stock,name', 'name,-stock,-id'])(
    'link to the next page, ordered by "%s"',
    async (order) => {
      const by = order === '' ? '' : `&orderBy=${order}`
      const allRows = await get(`/products?limit=100&count=none${by}`)
      expect(allRows.rows).toHaveLength(60)
      expect(allRows.next).toBeUndefined()
      const found: { id: number }[] = []
      let url: string | undefined = `/products?limit=7&count=none${by}`
      for (let pages = 0; url !== undefined && pages < 20; pages++) {
        const page = await get(url)
        found.push(...page.rows)
        url = page.next
      }
      expect(found).toEqual(allRows.rows)
    },
  )

  it('use the same cursor as pages of GraphQL', async () => {
    const query = `{ productsPage(first: 3, orderBy: [{ price: desc }]) { pageInfo { endCursor } } }`
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    const { data } = response.json() as {
      data: { productsPage: { pageInfo: { endCursor: string } } }
    }
    const { endCursor } = data.productsPage.pageInfo
    const after = `&after=${encodeURIComponent(endCursor)}`
    const { next = '' } = await get('/products?limit=3&orderBy=-price')
    const nextPage = await get(`/products?limit=3&orderBy=-price${after}`)
    expect(nextPage.rows).toHaveLength(3)
    expect(nextPage.rows).toEqual((await get(next)).rows)
  })

  it('reject invalid cursors and counts', async () => {
    expect((await app.inject({ url: '/products?after=abc' })).status).toBe(400)
    expect((await app.inject({ url: '/products?count=all' })).status).toBe(400)
    const { next } = await get('/products?limit=3&orderBy=-price')
    const other = (next ?? '').replace('orderBy=-price', 'orderBy=price')
    expect((await app.inject({ url: other })).status).toBe(400)
  })

  it('report the exact total up to a limit, and an estimate beyond it', async () => {
    const total = ({ headers }: { headers: object }) =>
      ['x-total-count', 'x-total-count-estimate'].map(
        (name) => (headers as { [name: string]: unknown })[name],
      )
    expect(total(await get('/products?price=1'))).toEqual(['12', undefined])
    expect(total(await get('/products?count=none'))).toEqual([undefined, undefined])
    expect(total(await get('/categories?count=exact'))).toEqual(['12000', undefined])
    for (const url of ['/categories', '/categories?count=estimate', '/categories?id.gt=0']) {
      const [exact, roughly] = total(await get(url))
      expect(exact).toBeUndefined()
      expect(Number(roughly)).toBeGreaterThan(3_000)
      expect(Number(roughly)).toBeLessThan(40_000)
    }
    const { headers } = await get('/categories')
    expect(headers['access-control-expose-headers']).toContain('X-Total-Count-Estimate')
  })

  it('continue after a row in repositories too', async () => {
    const products = database.records(Product)
    const orderBy = { price: 'desc' } as const
    const first = await products.list({ orderBy, limit: 5 })
    const after = products.cursorOf(first[4] as Product, orderBy)
    const second = await products.list({ orderBy, after, limit: 5, where: { price: { gte: 0 } } })
    const firstTen = await products.list({ orderBy, limit: 10 })
    expect([...first, ...second].map(({ id }) => id)).toEqual(firstTen.map(({ id }) => id))
  })

  it('filter by none and every, through several relations', async () => {
    const { id } = await database.records(Category).create({ name: 'empty' })
    const none = await get(`/categories?id.gte=${id}&count=exact`)
    expect(none.rows).toEqual([{ id, name: 'empty' }])
    const categories = database.records(Category)
    const withoutProducts = { not: { products: {} } }
    expect(await categories.count(withoutProducts)).toBe(12_001 - 3)
    expect(
      await categories.list({ where: withoutProducts, orderBy: { id: 'desc' }, limit: 1 }),
    ).toEqual(none.rows)
    const every = { not: { products: { not: { price: { lt: 5 } } } } }
    expect(await categories.count(every)).toBe(12_001)
    const some = { products: { price: 1, category: { products: { price: 2 } } } }
    expect(await categories.count(some)).toBe(3)
    expect(await categories.count({ not: some })).toBe(12_001 - 3)
  })
})
