/** Clients that use the admin API: single rows, CSV files and bulk changes. */
import type { Application } from '../../../src/index.js'
import { crudVerdicts } from './crud-doors.js'
import { shown, type Answer, type Door, type Question } from './door.js'
import type { RecordName } from './world.js'

type Sent = Answer & { readonly body: string; readonly total: string | undefined }

/** Single rows: lists with selected fields, and writes that compare the previous values. */
export function openAdminRows(app: Application, token: string | undefined): Door {
  const send = sender(app, token)
  const rows = (record: RecordName): string => `rows/${pathOf(record)}`
  return {
    list: async (record, fields, question) => {
      const query = queryOf(question)
      query.set('fields', fields.join(','))
      const answer = await send('GET', `${rows(record)}?${query.toString()}`)
      return { ...answer, value: shown(answer.value, fields) }
    },
    count: async (record, question) => {
      const answer = await send('GET', `${rows(record)}?${queryOf(question).toString()}`)
      return answer.verdict === 'done' ? { ...answer, value: Number(answer.total) } : answer
    },
    find: async (record, id, fields) => {
      const answer = await send('GET', `${rows(record)}/${id}`)
      return { ...answer, value: shown(answer.value, fields) }
    },
    create: (record, values) => send('POST', rows(record), values),
    update: (record, id, values) =>
      send('POST', `save/${pathOf(record)}/${id}`, { was: {}, values }),
    delete: async (record, id) => {
      const answer = await send('POST', `remove/${pathOf(record)}/${id}`, { was: {} })
      return { ...answer, value: answer.verdict === 'done' }
    },
  }
}

/** Many rows: CSV files, aggregates and bulk changes. */
export function openAdminMany(app: Application, token: string | undefined): Door {
  const send = sender(app, token)
  const file = async (
    record: RecordName,
    question: Question | undefined,
  ): Promise<{ answer: Sent; rows: object[] }> => {
    const url = `csv/${pathOf(record)}?${queryOf(question).toString()}`
    const answer = await send('GET', url)
    return { answer, rows: answer.verdict === 'done' ? readFile(answer.body) : [] }
  }
  const bulk = (record: RecordName, body: object): Promise<Sent> =>
    send('POST', `bulk/${pathOf(record)}`, body)
  return {
    ...openAdminRows(app, token),
    list: async (record, fields, question) => {
      const { answer, rows } = await file(record, question)
      return answer.verdict === 'done' ? { ...answer, value: shown(rows, fields) } : answer
    },
    count: async (record, { filter } = {}) => {
      const query = queryOf({ ...(filter === undefined ? {} : { filter }) })
      query.set('count', 'true')
      const url = `rows/${pathOf(record)}/aggregate?${query.toString()}`
      const answer = await send('GET', url)
      const rows = (answer.value ?? []) as readonly { readonly count: number }[]
      return { ...answer, value: rows[0]?.count }
    },
    update: (record, id, values) => bulk(record, { ids: [id], values }),
    delete: async (record, id) => {
      const answer = await bulk(record, { ids: [id], remove: true })
      return { ...answer, value: answer.verdict === 'done' }
    },
  }
}

function sender(app: Application, token: string | undefined) {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (method: string, path: string, json?: object): Promise<Sent> => {
    const url = `/admin/api/${path}`
    const { status, headers: sent, body } = await app.inject({ method, url, headers, json })
    const verdict = crudVerdicts[status]
    if (verdict === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const isJson = sent['content-type']?.includes('json') === true
    const value: unknown = verdict === 'done' && isJson ? JSON.parse(body) : undefined
    const total = sent['x-total-count']
    return { verdict, value, text: `${status} ${body}`, body, total }
  }
}

function queryOf({ filter, orderBy }: Question = {}): URLSearchParams {
  const query = new URLSearchParams()
  if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
  if (orderBy !== undefined) query.set('orderBy', orderBy)
  return query
}

/** Parses CSV without quoting: no text of the suite has a comma or a quote. */
function readFile(text: string): object[] {
  const [names = [], ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  const read = (cell: string): unknown => (/^\d+$/.test(cell) ? Number(cell) : cell)
  return lines.map((cells) =>
    Object.fromEntries(cells.map((cell, index) => [names[index], read(cell)])),
  )
}

const plurals: Partial<Record<RecordName, string>> = {
  Staff: 'staffList',
  Entry: 'entries',
  Wish: 'wishes',
}

function pathOf(record: RecordName): string {
  return plurals[record] ?? `${record.toLowerCase()}s`
}
