/** Clients that use the admin API: single rows, CSV files and bulk changes. */
import type { Application } from '../../../src/index.js'
import { outcomesByStatus } from './crud-clients.js'
import {
  pluralOf,
  pickFields,
  type Result,
  type RecordClient,
  type ListOptions,
} from './record-client.js'
import type { RecordName } from './fixture.js'

type AdminResult = Result & { readonly body: string; readonly total: string | undefined }

/** Single rows: lists with selected fields, and writes that compare the previous values. */
export function openAdminRows(app: Application, token: string | undefined): RecordClient {
  const send = sender(app, token)
  const rows = (record: RecordName): string => `rows/${pluralOf(record)}`
  return {
    list: async (record, fields, options) => {
      const query = queryOf(options)
      query.set('fields', fields.join(','))
      const result = await send('GET', `${rows(record)}?${query.toString()}`)
      return { ...result, value: pickFields(result.value, fields) }
    },
    count: async (record, options) => {
      const result = await send('GET', `${rows(record)}?${queryOf(options).toString()}`)
      return result.outcome === 'done' ? { ...result, value: Number(result.total) } : result
    },
    find: async (record, id, fields) => {
      const result = await send('GET', `${rows(record)}/${id}`)
      return { ...result, value: pickFields(result.value, fields) }
    },
    create: (record, values) => send('POST', rows(record), values),
    update: (record, id, values) =>
      send('POST', `save/${pluralOf(record)}/${id}`, { was: {}, values }),
    delete: async (record, id) => {
      const result = await send('POST', `remove/${pluralOf(record)}/${id}`, { was: {} })
      return { ...result, value: result.outcome === 'done' }
    },
  }
}

/** Many rows: CSV files, aggregates and bulk changes. */
export function openAdminMany(app: Application, token: string | undefined): RecordClient {
  const send = sender(app, token)
  const file = async (
    record: RecordName,
    options: ListOptions | undefined,
  ): Promise<{ result: AdminResult; rows: object[] }> => {
    const url = `csv/${pluralOf(record)}?${queryOf(options).toString()}`
    const result = await send('GET', url)
    return { result, rows: result.outcome === 'done' ? parseCsv(result.body) : [] }
  }
  const bulk = (record: RecordName, body: object): Promise<AdminResult> =>
    send('POST', `bulk/${pluralOf(record)}`, body)
  return {
    ...openAdminRows(app, token),
    list: async (record, fields, options) => {
      const { result: answer, rows } = await file(record, options)
      return answer.outcome === 'done' ? { ...answer, value: pickFields(rows, fields) } : answer
    },
    count: async (record, { filter } = {}) => {
      const query = queryOf({ ...(filter === undefined ? {} : { filter }) })
      query.set('count', 'true')
      const url = `rows/${pluralOf(record)}/aggregate?${query.toString()}`
      const result = await send('GET', url)
      const rows = (result.value ?? []) as readonly { readonly count: number }[]
      return { ...result, value: rows[0]?.count }
    },
    update: (record, id, values) => bulk(record, { ids: [id], values }),
    delete: async (record, id) => {
      const result = await bulk(record, { ids: [id], remove: true })
      return { ...result, value: result.outcome === 'done' }
    },
  }
}

function sender(app: Application, token: string | undefined) {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (method: string, path: string, json?: object): Promise<AdminResult> => {
    const url = `/admin/api/${path}`
    const {
      status,
      headers: responseHeaders,
      body,
    } = await app.inject({ method, url, headers, json })
    const outcome = outcomesByStatus[status]
    if (outcome === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const isJson = responseHeaders['content-type']?.includes('json') === true
    const value: unknown = outcome === 'done' && isJson ? JSON.parse(body) : undefined
    const total = responseHeaders['x-total-count']
    return { outcome, value, text: `${status} ${body}`, body, total }
  }
}

function queryOf({ filter, orderBy }: ListOptions = {}): URLSearchParams {
  const query = new URLSearchParams()
  if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
  if (orderBy !== undefined) query.set('orderBy', orderBy)
  return query
}

/** Parses CSV without quoting: no text of the suite has a comma or a quote. */
function parseCsv(text: string): object[] {
  const [names = [], ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  const read = (cell: string): unknown => (/^\d+$/.test(cell) ? Number(cell) : cell)
  return lines.map((cells) =>
    Object.fromEntries(cells.map((cell, index) => [names[index], read(cell)])),
  )
}
