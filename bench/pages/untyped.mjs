/** The same calls without known routes: what the compiler needs for a page of this length. */
import { all, newItem } from './shared.mjs'

const calls = (index) => `
export async function page${index}() {
  const list = await api.get('/items${index}', { params: { q: 'x', page: 2 } })
  const one = await api.get('/items${index}/<id:int>', { path: { id: list[0].id } })
  const made = await api.post('/items${index}', ${newItem})
  const replaced = await api.put('/items${index}/<id:int>', ${newItem}, { path: { id: made.id } })
  const changed = await api.patch('/items${index}/<id:int>', ${newItem}, { path: { id: replaced.id } })
  await api.delete('/items${index}/<id:int>', { path: { id: changed.id } })
  return one.maker?.since.length
}`

export const writePage = () => ({
  'page.ts': `import { createClient } from 'filigree/client'
const api = createClient()
${all.map(calls).join('')}
`,
})
