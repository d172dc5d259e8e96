/** Clients that use the REST routes of `crud`. */
import type { Application } from '../../../src/index.js'
import { pickFields, type Result, type RecordClient, type ListOptions } from './record-client.js'
import type { DecoratedAt, RecordName } from './fixture.js'

/** @param prefix the path prefix, which selects the decorator of the controllers */
export function openCrud(
  app: Application,
  token: string | undefined,
  prefix: DecoratedAt = '',
): RecordClient {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send = async (method: string, url: string, json?: object) => {
    const {
      status,
      headers: responseHeaders,
      body,
    } = await app.inject({ method, url, headers, json })
    const outcome = outcomesByStatus[status]
    if (outcome === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const value: unknown = outcome === 'done' && body !== '' ? JSON.parse(body) : undefined
    return {
      outcome,
      value,
      text: `${status} ${body}`,
      total: responseHeaders['x-total-count'],
    }
  }
  const folder = (record: RecordName): string => `${prefix}/${record.toLowerCase()}`
  const at = (record: RecordName, id: number): string => `${folder(record)}/${id}`
  const listUrl = (record: RecordName, { filter, orderBy }: ListOptions = {}): string => {
    const query = new URLSearchParams()
    if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
    if (orderBy !== undefined) query.set('orderBy', orderBy)
    return `${folder(record)}?${query.toString()}`
  }
  return {
    list: async (record, fields, options) => {
      const result = await send('GET', listUrl(record, options))
      return { ...result, value: pickFields(result.value, fields) }
    },
    count: async (record, options) => {
      const result = await send('GET', listUrl(record, options))
      return result.outcome === 'done' ? { ...result, value: Number(result.total) } : result
    },
    find: async (record, id, fields) => {
      const result = await send('GET', at(record, id))
      return { ...result, value: pickFields(result.value, fields) }
    },
    create: (record, values) => send('POST', folder(record), values),
    update: (record, id, values) => send('PATCH', at(record, id), values),
    delete: async (record, id) => {
      const result = await send('DELETE', at(record, id))
      return { ...result, value: result.outcome === 'done' }
    },
  }
}

/** Counts by the aggregate route. */
export function openCrudAggregates(app: Application, token: string | undefined): RecordClient {
  const plain = openCrud(app, token)
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return {
    ...plain,
    count: async (record, { filter } = {}) => {
      const query = new URLSearchParams({ count: 'true' })
      if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
      const url = `/${record.toLowerCase()}/aggregate?${query.toString()}`
      const { status, body } = await app.inject({ url, headers })
      const outcome = outcomesByStatus[status]
      if (outcome === undefined) throw new Error(`GET ${url}: ${status} ${body}`)
      const rows = outcome === 'done' ? (JSON.parse(body) as { readonly count: number }[]) : []
      return { outcome, value: rows[0]?.count, text: `${status} ${body}` }
    },
  }
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
