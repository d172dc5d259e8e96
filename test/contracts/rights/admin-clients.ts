/** Clients that use the admin API: single rows, CSV files and bulk changes. */
import type { Application } from '../../../src/index.js'
import { httpSender, queryOf, type HttpResult } from './http-sender.js'
import {
  keysOf,
  keyValueOf,
  pathKeyOf,
  pluralOf,
  pickFields,
  type RecordClient,
  type ListOptions,
} from './record-client.js'
import type { RecordName } from './fixture.js'

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
      const result = await send('GET', `${rows(record)}/${pathKeyOf(record, id)}`)
      return { ...result, value: pickFields(result.value, fields) }
    },
    create: (record, values) => send('POST', rows(record), values),
    update: (record, id, values) =>
      send('POST', `save/${pluralOf(record)}/${encoded(record, id)}`, { was: {}, values }),
    delete: async (record, id) => {
      const result = await send('POST', `remove/${pluralOf(record)}/${encoded(record, id)}`, {
        was: {},
      })
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
  ): Promise<{ result: HttpResult; rows: object[] }> => {
    const url = `csv/${pluralOf(record)}?${queryOf(options).toString()}`
    const result = await send('GET', url)
    return { result, rows: result.outcome === 'done' ? parseCsv(result.body) : [] }
  }
  const bulk = (record: RecordName, body: object): Promise<HttpResult> =>
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
    groups: async (record, path) =>
      keysOf(await send('GET', `rows/${pluralOf(record)}/aggregate?groupBy=${path}`), path),
    update: (record, id, values) => bulk(record, { ids: [keyValueOf(record, id)], values }),
    delete: async (record, id) => {
      const result = await bulk(record, { ids: [keyValueOf(record, id)], remove: true })
      return { ...result, value: result.outcome === 'done' }
    },
  }
}

function encoded(record: RecordName, id: number): string {
  return encodeURIComponent(keyValueOf(record, id))
}

function sender(app: Application, token: string | undefined) {
  const send = httpSender(app, token)
  return (method: string, path: string, json?: object) => send(method, `/admin/api/${path}`, json)
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
