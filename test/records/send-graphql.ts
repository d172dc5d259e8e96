/** Sends GraphQL operations to an application. */
import type { Application } from '../../src/index.js'

export interface GraphqlResponse {
  // The shape depends on the query.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

export async function sendGraphql(
  app: Application,
  query: string,
  token?: string,
): Promise<GraphqlResponse> {
  const response = await app.inject({ method: 'POST', url: '/graphql', json: { query }, token })
  return response.json() as GraphqlResponse
}
