/** The doors of the rights suite: each asks the same questions in its own words. A new door is one more of these. */
import type { CallerName, Ground, RecordName } from './rights-world.js'

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

export const doors: readonly [string, (ground: Ground, caller: CallerName) => Door][] = [
  ['crud', openCrud],
  ['the planner', (ground, caller) => openGraphql(ground, caller, '')],
  // Beside a field with a resolver of its own the executor reads all.
  ['the executor', (ground, caller) => openGraphql(ground, caller, ' slow')],
]

function openCrud({ app, tokens }: Ground, caller: CallerName): Door {
  const token = tokens.get(caller)
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

/** @param extra is selected besides where the record has it */
function openGraphql({ app, tokens }: Ground, caller: CallerName, extra: string): Door {
  const token = tokens.get(caller)
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send = async (query: string, variables: object, fields: readonly string[] = []) => {
    const json = { query, variables }
    const { status, body } = await app.inject({ method: 'POST', url: '/graphql', headers, json })
    const { data, errors = [] } = JSON.parse(body) as GraphqlBody
    const value = Object.values(data ?? {})[0]
    const text = `${status} ${body}`
    const code = errors[0]?.extensions.code
    // Fields that may not be read are null beside the others.
    if (code === undefined || (value !== null && value !== undefined)) {
      const isMissing = value === null || value === false
      const verdict = isMissing ? 'missing' : 'done'
      return { verdict, value: shown(value, fields), text } satisfies Answer
    }
    const verdict = graphqlVerdicts[code]
    if (verdict === undefined) throw new Error(`${query}: ${text}`)
    return { verdict, value: undefined, text } satisfies Answer
  }
  const selected = (record: RecordName, fields: readonly string[]): string =>
    `{ ${fields.join(' ')}${extra} }`
  const types = (record: RecordName): string =>
    `$where: ${record}Where, $orderBy: [${record}Order!]`
  const asked = ({ filter, orderBy }: Question = {}): object => ({
    ...(filter && { where: nested(filter) }),
    ...(orderBy !== undefined && { orderBy: [toOrder(orderBy)] }),
  })
  return {
    list: (record, fields, question) =>
      send(
        `query (${types(record)}) { ${record.toLowerCase()}s(where: $where, orderBy: $orderBy) ${selected(record, fields)} }`,
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
        `query ($id: ID) { ${record.toLowerCase()}(id: $id) ${selected(record, fields)} }`,
        { id: String(id) },
        fields,
      ),
    create: (record, input) =>
      send(
        `mutation ($input: ${record}Input) { create${record}(input: $input) ${selected(record, ['id'])} }`,
        { input },
        ['id'],
      ),
    update: (record, id, input) =>
      send(
        `mutation ($id: ID!, $input: ${record}Input) { update${record}(id: $id, input: $input) ${selected(record, ['id'])} }`,
        { id: String(id), input },
        ['id'],
      ),
    delete: (record, id) =>
      send(`mutation ($id: ID!) { delete${record}(id: $id) }`, { id: String(id) }),
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
