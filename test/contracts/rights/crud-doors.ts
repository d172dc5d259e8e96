/** Clients that use the REST routes of `crud`. */
import type { Application } from '../../../src/index.js'
import { shown, type Answer, type Door, type Question } from './door.js'
import type { DecoratedAt, RecordName } from './world.js'

/** @param below the path prefix, which selects the decorator of the controllers */
export function openCrud(
  app: Application,
  token: string | undefined,
  below: DecoratedAt = '',
): Door {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send = async (method: string, url: string, json?: object) => {
    const { status, headers: sent, body } = await app.inject({ method, url, headers, json })
    const verdict = crudVerdicts[status]
    if (verdict === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const value: unknown = verdict === 'done' && body !== '' ? JSON.parse(body) : undefined
    return { verdict, value, text: `${status} ${body}`, total: sent['x-total-count'] }
  }
  const folder = (record: RecordName): string => `${below}/${record.toLowerCase()}`
  const at = (record: RecordName, id: number): string => `${folder(record)}/${id}`
  const listUrl = (record: RecordName, { filter, orderBy }: Question = {}): string => {
    const query = new URLSearchParams()
    if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
    if (orderBy !== undefined) query.set('orderBy', orderBy)
    return `${folder(record)}?${query.toString()}`
  }
  return {
    list: async (record, fields, question) => {
      const answer = await send('GET', listUrl(record, question))
      return { ...answer, value: shown(answer.value, fields) }
    },
    count: async (record, question) => {
      const answer = await send('GET', listUrl(record, question))
      return answer.verdict === 'done' ? { ...answer, value: Number(answer.total) } : answer
    },
    find: async (record, id, fields) => {
      const answer = await send('GET', at(record, id))
      return { ...answer, value: shown(answer.value, fields) }
    },
    create: (record, values) => send('POST', folder(record), values),
    update: (record, id, values) => send('PATCH', at(record, id), values),
    delete: async (record, id) => {
      const answer = await send('DELETE', at(record, id))
      return { ...answer, value: answer.verdict === 'done' }
    },
  }
}

/** Counts by the aggregate route. */
export function openCrudAggregates(app: Application, token: string | undefined): Door {
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
      const verdict = crudVerdicts[status]
      if (verdict === undefined) throw new Error(`GET ${url}: ${status} ${body}`)
      const rows = verdict === 'done' ? (JSON.parse(body) as { readonly count: number }[]) : []
      return { verdict, value: rows[0]?.count, text: `${status} ${body}` }
    },
  }
}

export const crudVerdicts: Readonly<Record<number, Answer['verdict']>> = {
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
