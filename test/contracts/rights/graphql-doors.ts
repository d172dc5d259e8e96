/** Clients that use GraphQL: the planner, the executor, pages and bulk writes, and global ids. */
import { type Application, fromGlobalId, toGlobalId } from '../../../src/index.js'
import { pluralOf, queryNames } from '../../../src/graphql/records/names.js'
import { shown, type Answer, type Door, type Filter, type Question } from './door.js'
import type { RecordName } from './world.js'

export interface GraphqlBody {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

export type Send = (query: string, variables: object, fields?: readonly string[]) => Promise<Answer>

/** @param read converts the text of a response to the form of the other clients */
function graphqlSender(
  app: Application,
  token: string | undefined,
  url = '/graphql',
  read = (text: string): string => text,
): Send {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (query, variables, fields = []) => {
    const json = { query, variables }
    const answer = await app.inject({ method: 'POST', url, headers, json })
    const { status } = answer
    const body = read(answer.body)
    if (status === 500) throw new Error(`${query}: ${body}`)
    return toAnswer(JSON.parse(body) as GraphqlBody, `${status} ${body}`, fields)
  }
}

/** @param text the complete response */
export function toAnswer(
  { data, errors = [] }: GraphqlBody,
  text: string,
  fields: readonly string[],
): Answer {
  const value = Object.values(data ?? {})[0]
  const code = errors[0]?.extensions.code
  // Fields that the caller may not read are null in the row.
  if (code === undefined || (value !== null && value !== undefined)) {
    const isMissing = value === null || value === false
    const verdict = isMissing ? 'missing' : 'done'
    return { verdict, value: shown(value, fields), text }
  }
  const verdict = graphqlVerdicts[code]
  if (verdict === undefined) throw new Error(text)
  return { verdict, value: undefined, text }
}

const questionTypes = (record: RecordName): string =>
  `$where: ${record}Where, $orderBy: [${record}Order!]`

function asked({ filter, orderBy }: Question = {}): object {
  return {
    ...(filter && { where: nested(filter) }),
    ...(orderBy !== undefined && { orderBy: [toOrder(orderBy)] }),
  }
}

/** @param extra a further field to select */
export function openGraphql(
  app: Application,
  token: string | undefined,
  extra: string,
  send = graphqlSender(app, token),
): Door {
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

/** Reads rows by pages and counts by aggregates, and writes one row by bulk mutations. */
export function openMany(app: Application, token: string | undefined): Door {
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

/** Uses global ids and the field `node`. */
export function openRelay(app: Application, token: string | undefined): Door {
  const toPlain = (text: string): string =>
    text.replace(/[A-Za-z0-9+/]{8,}={0,2}/g, (word) => fromGlobalId(word)?.id ?? word)
  const send = graphqlSender(app, token, '/relay', toPlain)
  const plain = openGraphql(app, token, '', (query, variables, fields) =>
    send(query, Object.fromEntries(Object.entries(variables).map(globalOf(query))), fields),
  )
  return {
    ...plain,
    find: (record, id, fields) =>
      send(
        `query ($id: ID!) { node(id: $id) { ... on ${record} { ${fields.join(' ')} } } }`,
        { id: toGlobalId(record, id) },
        fields,
      ),
  }
}

/** Converts the keys in a variable to global ids: `id` of the operation's record, `accountId`, `projectIds`, `account: { id }`. */
function globalOf(query: string) {
  const record = /(?:update|delete)(\w+)\(/.exec(query)?.[1] ?? ''
  return ([name, value]: [string, unknown]): [string, unknown] => [
    name,
    name === 'id' ? toGlobalId(record, value as string) : withGlobalIds(value, ''),
  ]
}

function withGlobalIds(value: unknown, type: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => {
      const titled = name.charAt(0).toUpperCase() + name.slice(1)
      if (name === 'id') return [name, { eq: toGlobalId(type, (one as { eq: string }).eq) }]
      if (/Id$/.test(name) && one !== null)
        return [name, toGlobalId(titled.slice(0, -2), one as number)]
      if (/Ids$/.test(name))
        return [name, (one as number[]).map((id) => toGlobalId(titled.slice(0, -3), id))]
      return [name, withGlobalIds(one, titled)]
    }),
  )
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

/** `-account.iban` → `{ account: { iban: 'desc' } }` */
function toOrder(term: string): object {
  const isDescending = term.startsWith('-')
  const names = (isDescending ? term.slice(1) : term).split('.')
  const direction = isDescending ? 'desc' : 'asc'
  return names.reduceRight<object | string>(
    (inner, name) => ({ [name]: inner }),
    direction,
  ) as object
}
