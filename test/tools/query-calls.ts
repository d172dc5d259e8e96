/** Calls of a page with TanStack Query: correct calls compile, wrong calls do not. */
import { QueryClient } from '@tanstack/query-core'
import { createClient } from 'filigree/client'
import { createQueries, type Routes } from '../cli/routes/queries.js'

export async function callQueries(baseUrl: string): Promise<object> {
  const queries = createQueries(createClient<Routes>({ baseUrl }))
  const cache = new QueryClient()
  const item = await cache.query(queries.itemShow({ path: { id: 7 } }))
  const name: string = item.name
  const list = await cache.query(queries.itemList({ params: { q: 'desk' } }))
  const created = await queries.itemCreate().mutationFn({ body: { name: 'Lamp', price: 5 } })
  const deleted = await queries.itemRemove().mutationFn({ path: { id: 7 } })
  // @ts-expect-error the path has a value
  queries.itemShow()
  // @ts-expect-error the body has another class
  const wrong = () => queries.itemCreate().mutationFn({ body: { nam: 'Lamp' } })
  // @ts-expect-error of another kind
  queries.itemShow({ path: { id: 'seven' } })
  const keys = cache
    .getQueryCache()
    .getAll()
    .map(({ queryKey }) => queryKey)
  return { name, list: list.length, created, deleted, keys, refused: typeof wrong }
}
