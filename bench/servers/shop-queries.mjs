/** The operations of the GraphQL rows, as the request bodies of all contenders. */
import { sendJson } from './json-request.mjs'

export const listQuery = '{ items(limit: 50) { id name price category { id name } } }'

/** Other rows for each request. */
export const listBehindQuery =
  'query ($id: ID!) { items(limit: 50, where: { id: { gt: $id } }) { id name price category { id name } } }'

export const deepQuery = `{ categories(limit: 10) { id name items(limit: 10) { id name price reviews(limit: 5) { id stars text } } } }`

/** The same for a schema that was made from the tables: other names, and numbers for keys. */
export const deepQueryOfTables = `{ categories: allCategoriesList(first: 10) { id: rowId name items: itemsByCategoryIdList(first: 10) { id: rowId name price reviews: reviewsByItemIdList(first: 5) { id: rowId stars text } } } }`

export const oneQuery = 'query ($id: ID!) { item(id: $id) { id name price category { id name } } }'

export const updateMutation =
  'mutation ($id: ID!, $input: ItemInput!) { updateItem(id: $id, input: $input) { id name price } }'

/** The request that runs an operation. */
export const ask = (query, variables) => sendJson('POST', '/graphql', { query, variables })
