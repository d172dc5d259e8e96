/** The entry of the GraphQL IDE: GraphiQL with a first query made from the schema. */
import { useGraphiQL } from '@graphiql/react'
import { createLocalStorage } from '@graphiql/toolkit'
import { GraphiQL } from 'graphiql'
import { createElement, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { watchAccessibility } from './accessibility.js'
import { createFetcher } from './fetcher.js'
import { createFirstQuery } from './first-query.js'

/** The folder of the page's files, `/graphql/ide/`. The endpoint is the path before it. */
const folder = new URL('.', import.meta.url).pathname
const endpoint = folder.replace(/\/ide\/$/, '') || '/'

const workers: Readonly<Record<string, string>> = { json: 'json.js', graphql: 'graphql.js' }

Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_id: string, language: string) =>
      new Worker(`${folder}${workers[language] ?? 'editor.js'}`, { type: 'module' }),
  },
})

/**
 * Stores queries in the browser, apart from those of other endpoints. Headers are not stored, because they contain tokens. The
 * history of GraphiQL would store them.
 */
function createStorage(): ReturnType<typeof createLocalStorage> {
  const storage = createLocalStorage({ namespace: `filigree${endpoint}` })
  const setItem = storage.setItem.bind(storage)
  storage.setItem = (key, value) => {
    setItem(key, /:(?:queries|favorites|tabState)$/.test(key) ? withoutHeaders(value) : value)
  }
  return storage
}

function withoutHeaders(json: string): string {
  return JSON.stringify(
    JSON.parse(json, (name, value: unknown) => (name === 'headers' ? null : value)),
  )
}

/** Runs a query with the visitor's cookies, and without a token of the headers. */
async function isAllowed(query: string): Promise<boolean> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query }),
  })
  const result = (await response.json()) as { readonly errors?: unknown }
  return response.ok && result.errors === undefined
}

/** Writes the first query into an empty editor when the schema is loaded. */
function FirstQuery(): null {
  const schema = useGraphiQL((state) => state.schema)
  const editor = useGraphiQL((state) => state.queryEditor)
  useEffect(() => {
    if (!schema || editor?.getValue() !== '') return
    createFirstQuery(schema, isAllowed)
      .then((query) => {
        // The visitor may have begun to write meanwhile.
        if (editor.getValue() === '') editor.setValue(query)
      })
      .catch(console.error)
  }, [schema, editor])
  return null
}

const root = document.getElementById('ide') as HTMLElement
watchAccessibility(root)
createRoot(root).render(
  createElement(
    GraphiQL,
    {
      fetcher: createFetcher(endpoint),
      storage: createStorage(),
      shouldPersistHeaders: false,
      defaultQuery: '',
      defaultEditorToolsVisibility: 'headers',
      inputValueDeprecation: true,
      schemaDescription: true,
    },
    createElement(GraphiQL.Logo, null, 'GraphQL'),
    createElement(FirstQuery),
  ),
)
