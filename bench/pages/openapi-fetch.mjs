/** openapi-fetch and the paths as openapi-typescript writes them. */
import { all, newItem } from './shared.mjs'

const schemas = (index) => `
    Maker${index}: { id: number; name: string; since: string }
    Line${index}: { product: number; quantity: number; note?: string }
    NewItem${index}: { name: string; price: number; soldAt?: string; lines?: components['schemas']['Line${index}'][] }
    Item${index}: {
      id: number
      name: string
      price: number
      soldAt: string
      note?: string
      tags: string[]
      maker: components['schemas']['Maker${index}'] | null
    }`

const answer = (type) =>
  `{ 200: { headers: { [name: string]: unknown }; content: { 'application/json': ${type} } } }`
const nothing = '{ 204: { headers: { [name: string]: unknown }; content?: never } }'
const parameters = (query, path) =>
  `parameters: { query${query ?? '?: never'}; header?: never; path${path ?? '?: never'}; cookie?: never }`

const operation = ({ query, path, body, responses }) => `{
      ${parameters(query, path)}
      requestBody${body ? `: { content: { 'application/json': ${body} } }` : '?: never'}
      responses: ${responses}
    }`

const paths = (index) => {
  const item = `components['schemas']['Item${index}']`
  const body = `components['schemas']['NewItem${index}']`
  const path = ': { id: number }'
  return `
  '/items${index}': {
    ${parameters()}
    get: ${operation({ query: ': { q: string; page?: number; limit?: number }', responses: answer(`${item}[]`) })}
    put?: never
    post: ${operation({ body, responses: answer(item) })}
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/items${index}/{id}': {
    ${parameters()}
    get: ${operation({ path, responses: answer(item) })}
    put: ${operation({ path, body, responses: answer(item) })}
    post?: never
    delete: ${operation({ path, responses: nothing })}
    options?: never
    head?: never
    patch: ${operation({ path, body, responses: answer(item) })}
    trace?: never
  }`
}

const calls = (index) => {
  const at = (id) => `params: { path: { id: ${id} } }`
  return `
export async function page${index}() {
  const list = await api.GET('/items${index}', { params: { query: { q: 'x', page: 2 } } })
  const one = await api.GET('/items${index}/{id}', { ${at('list.data![0]!.id')} })
  const made = await api.POST('/items${index}', { body: ${newItem} })
  const replaced = await api.PUT('/items${index}/{id}', { ${at('made.data!.id')}, body: ${newItem} })
  const changed = await api.PATCH('/items${index}/{id}', { ${at('replaced.data!.id')}, body: ${newItem} })
  await api.DELETE('/items${index}/{id}', { ${at('changed.data!.id')} })
  return one.data!.maker?.since.length
}`
}

export const writePage = () => ({
  'paths.d.ts': `export interface paths {${all.map(paths).join('')}
}
export interface components {
  schemas: {${all.map(schemas).join('')}
  }
}
`,
  'page.ts': `import createClient from 'openapi-fetch'
import type { paths } from './paths.js'
const api = createClient<paths>()
${all.map(calls).join('')}
`,
})
