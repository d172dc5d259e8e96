/** Filigree's client and the routes as `filigree types` writes them. */
import { all, declareClasses, newItem } from './shared.mjs'

const declareController = (index) => `${declareClasses(index)}
export declare class Items${index} {
  list(query: Search${index}): Promise<Item${index}[]>
  show(id: number): Promise<Item${index} | null>
  create(body: NewItem${index}): Promise<Item${index}>
  replace(id: number, body: NewItem${index}): Promise<Item${index}>
  change(id: number, body: NewItem${index}): Promise<Item${index}>
  remove(id: number): void
}
`

const importController = (index) =>
  `import type { Items${index}, NewItem${index}, Search${index} } from './server/items${index}.js'`

const routes = (index) => {
  const one = `/items${index}/<id:int>`
  const result = (member) => `ReturnType<Items${index}['${member}']>`
  return `
  'GET /items${index}': { params: Search${index}; result: ${result('list')} }
  'GET ${one}': { result: NonNullable<Awaited<${result('show')}>> }
  'POST /items${index}': { body: NewItem${index}; result: ${result('create')} }
  'PUT ${one}': { body: NewItem${index}; result: ${result('replace')} }
  'PATCH ${one}': { body: NewItem${index}; result: ${result('change')} }
  'DELETE ${one}': { result: ${result('remove')} }`
}

const calls = (index) => `
export async function page${index}() {
  const list = await api.get('/items${index}', { params: { q: 'x', page: 2 } })
  const one = await api.get('/items${index}/<id:int>', { path: { id: list[0]!.id } })
  const made = await api.post('/items${index}', ${newItem})
  const replaced = await api.put('/items${index}/<id:int>', ${newItem}, { path: { id: made.id } })
  const changed = await api.patch('/items${index}/<id:int>', ${newItem}, { path: { id: replaced.id } })
  await api.delete('/items${index}/<id:int>', { path: { id: changed.id } })
  return one.maker?.since.length
}`

export const writePage = () => ({
  ...Object.fromEntries(
    all.map((index) => [`server/items${index}.d.ts`, declareController(index)]),
  ),
  'routes.d.ts': `${all.map(importController).join('\n')}
export interface Routes {${all.map(routes).join('')}
}
`,
  'page.ts': `import { createClient } from 'filigree/client'
import type { Routes } from './routes.js'
const api = createClient<Routes>()
${all.map(calls).join('')}
`,
})
