/** Requests of the clients that use routes. */
import type { Application } from '../../../src/index.js'
import type { ListOptions, Result } from './record-client.js'

export interface HttpResult extends Result {
  readonly body: string
  /** The number of all rows of a list. */
  readonly total: string | undefined
}

export function httpSender(app: Application, token: string | undefined) {
  const authorization: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (method: string, url: string, json?: object): Promise<HttpResult> => {
    const response = await app.inject({ method, url, headers: authorization, json })
    const { status, headers, body } = response
    const outcome = outcomesByStatus[status]
    if (outcome === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const isJson = headers['content-type']?.includes('json') === true
    // A write may respond without a body.
    const value: unknown = outcome !== 'done' ? undefined : isJson ? JSON.parse(body) : {}
    return { outcome, value, text: `${status} ${body}`, body, total: headers['x-total-count'] }
  }
}

export function queryOf({ filter, orderBy }: ListOptions = {}): URLSearchParams {
  const query = new URLSearchParams()
  if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
  if (orderBy !== undefined) query.set('orderBy', orderBy)
  return query
}

export const outcomesByStatus: Readonly<Record<number, Result['outcome']>> = {
  200: 'done',
  201: 'done',
  204: 'done',
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'missing',
  405: 'none',
  409: 'conflict',
}
