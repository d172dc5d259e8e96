/** The doors of the rights suite: each asks the same questions in its own words. A new door is one more of these. */
import type { Application } from '../../../src/bootstrap/application.js'
import { pluralOf, queryNames } from '../../../src/graphql/records/names.js'
import type { RecordName } from './world.js'

/** What a door answered, in words that all doors share. */
export interface Answer {
  /** `none`: this door has no such operation. */
  readonly verdict:
    'done' | 'unauthenticated' | 'forbidden' | 'missing' | 'conflict' | 'invalid' | 'none'
  /** Rows, a row or a number; undefined where it was not done. */
  readonly value: unknown
  /** All of the answer as text, to hold one against another. */
  readonly text: string
}

export interface Filter {
  /** `account.iban` */
  readonly path: string
  readonly operator: 'eq' | 'gte' | 'like'
  readonly value: string | number
}

export interface Question {
  readonly filter?: Filter
  readonly orderBy?: string
}

/** One caller's way in. */
export interface Door {
  /** Rows, each with the fields that are asked for. */
  list(record: RecordName, fields: readonly string[], question?: Question): Promise<Answer>
  /** The number of rows. */
  count(record: RecordName, question?: Question): Promise<Answer>
  find(record: RecordName, id: number, fields: readonly string[]): Promise<Answer>
  create(record: RecordName, values: object): Promise<Answer>
  update(record: RecordName, id: number, values: object): Promise<Answer>
  delete(record: RecordName, id: number): Promise<Answer>
}

/** @param token of who asks, if any */
export type OpenDoor = (app: Application, token: string | undefined) => Door

export const openDoors: readonly [string, OpenDoor][] = [
  ['crud', openCrud],
  ['crud, aggregates', openCrudAggregates],
  ['the planner', (app, token) => openGraphql(app, token, '')],
  // Beside a field with a resolver of its own the executor reads all.
  ['the executor', (app, token) => openGraphql(app, token, ' slow')],
  ['pages, aggregates and writes of many', openMany],
]

function openCrud(app: Application, token: string | undefined): Door {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send = async (method: string, url: string, json?: object) => {
    const { status, headers: sent, body } = await app.inject({ method, url, headers, json })
    const verdict = crudVerdicts[status]
    if (verdict === undefined) throw new Error(`${method} ${url}: ${status} ${body}`)
    const value: unknown = verdict === 'done' && body !== '' ? JSON.parse(body) : undefined
    return { verdict, value, text: `${status} ${body}`, total: sent['x-total-count'] }
  }
  const at = (record: RecordName, id: number): string => `/${record.toLowerCase()}/${id}`
  const listUrl = (record: RecordName, { filter, orderBy }: Question = {}): string => {
    const query = new URLSearchParams()
    if (filter !== undefined) query.set(`${filter.path}.${filter.operator}`, String(filter.value))
    if (orderBy !== undefined) query.set('orderBy', orderBy)
    return `/${record.toLowerCase()}?${query.toString()}`
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
    create: (record, values) => send('POST', `/${record.toLowerCase()}`, values),
    update: (record, id, values) => send('PATCH', at(record, id), values),
    delete: async (record, id) => {
      const answer = await send('DELETE', at(record, id))
      return { ...answer, value: answer.verdict === 'done' }
    },
  }
}

/** Numbers by aggregates, and single rows with what stands around them. */
function openCrudAggregates(app: Application, token: string | undefined): Door {
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

const crudVerdicts: Readonly<Record<number, Answer['verdict']>> = {
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

/** Secured fields are left out of REST answers; GraphQL's are null. */
function shown(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => shown(one, fields))
  if (typeof value !== 'object' || value === null) return value
  const row = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(fields.map((name) => [name, row[name] ?? null]))
}

interface GraphqlBody {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

type Send = (query: string, variables: object, fields?: readonly string[]) => Promise<Answer>

function graphqlSender(app: Application, token: string | undefined): Send {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (query, variables, fields = []) => {
    const json = { query, variables }
    const { status, body } = await app.inject({ method: 'POST', url: '/graphql', headers, json })
    if (status === 500) throw new Error(`${query}: ${body}`)
    const { data, errors = [] } = JSON.parse(body) as GraphqlBody
    const value = Object.values(data ?? {})[0]
    const text = `${status} ${body}`
    const code = errors[0]?.extensions.code
    // Fields that may not be read are null beside the others.
    if (code === undefined || (value !== null && value !== undefined)) {
      const isMissing = value === null || value === false
      const verdict = isMissing ? 'missing' : 'done'
      return { verdict, value: shown(value, fields), text }
    }
    const verdict = graphqlVerdicts[code]
    if (verdict === undefined) throw new Error(`${query}: ${text}`)
    return { verdict, value: undefined, text }
  }
}

const questionTypes = (record: RecordName): string =>
  `$where: ${record}Where, $orderBy: [${record}Order!]`

function asked({ filter, orderBy }: Question = {}): object {
  return {
    ...(filter && { where: nested(filter) }),
    ...(orderBy !== undefined && { orderBy: [toOrder(orderBy)] }),
  }
}

/** @param extra is selected besides where the record has it */
function openGraphql(app: Application, token: string | undefined, extra: string): Door {
  const send = graphqlSender(app, token)
  const selected = (fields: readonly string[]): string => `{ ${fields.join(' ')}${extra} }`
  return {
    list: (record, fields, question) =>
      send(
        `query (${questionTypes(record)}) { ${record.toLowerCase()}s(where: $where, orderBy: $orderBy) ${selected(fields)} }`,
        asked(question),
        fields,
      ),
    count: (record, { filter } = {}) =>
      send(
        `query ($where: ${record}Where) { ${record.toLowerCase()}Count(where: $where) }`,
        asked(filter && { filter }),
      ),
    find: (record, id, fields) =>
      send(
        `query ($id: ID) { ${record.toLowerCase()}(id: $id) ${selected(fields)} }`,
        { id: String(id) },
        fields,
      ),
    create: (record, input) =>
      send(
        `mutation ($input: ${record}Input) { create${record}(input: $input) ${selected(['id'])} }`,
        { input },
        ['id'],
      ),
    update: (record, id, input) =>
      send(
        `mutation ($id: ID!, $input: ${record}Input) { update${record}(id: $id, input: $input) ${selected(['id'])} }`,
        { id: String(id), input },
        ['id'],
      ),
    delete: (record, id) =>
      send(`mutation ($id: ID!) { delete${record}(id: $id) }`, { id: String(id) }),
  }
}

/** Rows by pages, numbers by aggregates, and writes of many rows that are one. */
function openMany(app: Application, token: string | undefined): Door {
  const send = graphqlSender(app, token)
  const many = (record: RecordName): string => queryNames(record, {}).many
  const pick = async (answering: Promise<Answer>, one: (value: unknown) => unknown) => {
    const answer = await answering
    return answer.verdict === 'done' ? { ...answer, value: one(answer.value) } : answer
  }
  const page = async (record: RecordName, fields: readonly string[], question: object) => {
    const selection = `{ edges { node { ${fields.join(' ')} } } }`
    const query = `query (${questionTypes(record)}) { ${many(record)}Page(where: $where, orderBy: $orderBy) ${selection} }`
    const found = await pick(send(query, question, ['edges']), (value) => {
      const { edges } = value as { readonly edges: readonly { readonly node: unknown }[] }
      return edges.map(({ node }) => shown(node, fields))
    })
    return found
  }
  const first = (value: unknown): unknown => (value as readonly unknown[])[0]
  return {
    list: (record, fields, question) => page(record, fields, asked(question)),
    find: async (record, id, fields) => {
      const answer = await page(record, fields, { where: { id: { eq: String(id) } } })
      const found = answer.verdict === 'done' ? first(answer.value) : undefined
      if (answer.verdict !== 'done') return answer
      return found === undefined ? { ...answer, verdict: 'missing' } : { ...answer, value: found }
    },
    count: (record, { filter } = {}) =>
      pick(
        send(
          `query ($where: ${record}Where) { ${many(record)}Aggregate(where: $where) { count } }`,
          asked(filter && { filter }),
          ['count'],
        ),
        (value) => (first(value) as { readonly count: number }).count,
      ),
    create: (record, input) =>
      pick(
        send(
          `mutation ($input: [${record}Input!]!) { create${pluralOf(record)}(input: $input) { id } }`,
          { input: [input] },
          ['id'],
        ),
        first,
      ),
    update: (record, id, input) =>
      pick(
        send(
          `mutation ($input: [${record}Changes!]!) { update${pluralOf(record)}(input: $input) { id } }`,
          { input: [{ id: String(id), ...input }] },
          ['id'],
        ),
        first,
      ),
    delete: async (record, id) => {
      const answer = await send(
        `mutation ($ids: [ID!]!) { delete${pluralOf(record)}(ids: $ids) }`,
        { ids: [String(id)] },
      )
      if (answer.verdict !== 'done') return answer
      return answer.value === 0
        ? { ...answer, verdict: 'missing', value: undefined }
        : { ...answer, value: true }
    },
  }
}

const graphqlVerdicts: Readonly<Record<string, Answer['verdict']>> = {
  BAD_VARIABLES: 'invalid',
  CONFLICT: 'conflict',
  FORBIDDEN: 'forbidden',
  GRAPHQL_VALIDATION_FAILED: 'none',
  NOT_FOUND: 'missing',
  UNAUTHENTICATED: 'unauthenticated',
  VALIDATION: 'invalid',
}

/** `account.iban` → `{ account: { iban: { like: … } } }` */
function nested({ path, operator, value }: Filter): object {
  const isKey = path.endsWith('id')
  const test: object = { [operator]: isKey ? String(value) : value }
  return path.split('.').reduceRight((inner, name) => ({ [name]: inner }), test)
}

function toOrder(term: string): object {
  return term.startsWith('-') ? { [term.slice(1)]: 'desc' } : { [term]: 'asc' }
}
