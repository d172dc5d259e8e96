/** Clients that use the REST routes of `crud`. */
import type { Application } from '../../../src/index.js'
import { httpSender, queryOf } from './http-sender.js'
import {
  keysOf,
  pathKeyOf,
  pickFields,
  type RecordClient,
  type ListOptions,
} from './record-client.js'
import type { DecoratedAt, RecordName } from './fixture.js'

/** @param prefix the path prefix, which selects the decorator of the controllers */
export function openCrud(
  app: Application,
  token: string | undefined,
  prefix: DecoratedAt = '',
): RecordClient {
  const send = httpSender(app, token)
  const folder = (record: RecordName): string => `${prefix}/${record.toLowerCase()}`
  const at = (record: RecordName, id: number): string =>
    `${folder(record)}/${pathKeyOf(record, id)}`
  const listUrl = (record: RecordName, options?: ListOptions): string =>
    `${folder(record)}?${queryOf(options).toString()}`
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
  const send = httpSender(app, token)
  return {
    ...plain,
    groups: async (record, path) =>
      keysOf(await send('GET', `/${record.toLowerCase()}/aggregate?groupBy=${path}`), path),
    count: async (record, { filter } = {}) => {
      const query = queryOf({ ...(filter === undefined ? {} : { filter }) })
      query.set('count', 'true')
      const result = await send('GET', `/${record.toLowerCase()}/aggregate?${query.toString()}`)
      const rows = (result.value ?? []) as readonly { readonly count: number }[]
      return { ...result, value: rows[0]?.count }
    },
  }
}
