/** Clients that use GraphQL: the planner, the executor, pages and bulk writes, and global ids. */
import { type Application, fromGlobalId, toGlobalId } from '../../../src/index.js'
import {
  keyFieldsOf,
  keyValueOf,
  pluralOf,
  pickFields,
  type Result,
  type RecordClient,
  type Filter,
  type ListOptions,
} from './record-client.js'
import type { RecordName } from './fixture.js'

export interface GraphqlBody {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

export type Send = (query: string, variables: object, fields?: readonly string[]) => Promise<Result>

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
    const result = await app.inject({ method: 'POST', url, headers, json })
    const { status } = result
    const body = read(result.body)
    if (status === 500) throw new Error(`${query}: ${body}`)
    return toResult(JSON.parse(body) as GraphqlBody, `${status} ${body}`, fields)
  }
}

/** @param text the complete response */
export function toResult(
  { data, errors = [] }: GraphqlBody,
  text: string,
  fields: readonly string[],
): Result {
  const value = Object.values(data ?? {})[0]
  const code = errors[0]?.extensions.code
  // Fields that the caller may not read are null in the row.
  if (code === undefined || (value !== null && value !== undefined)) {
    const isMissing = value === null || value === false
    const outcome = isMissing ? 'missing' : 'done'
    return { outcome, value: pickFields(value, fields), text }
  }
  const outcome = outcomesByCode[code]
  if (outcome === undefined) throw new Error(text)
  return { outcome, value: undefined, text }
}

const listVariableTypes = (record: RecordName): string =>
  `$where: ${record}Where, $orderBy: [${record}Order!]`

function toVariables({ filter, orderBy }: ListOptions = {}): object {
  return {
    ...(filter && { where: nested(filter) }),
    ...(orderBy !== undefined && { orderBy: [toOrder(orderBy)] }),
  }
}

/** How an operation names one row. */
interface KeyArguments {
  /** The variables with their types. */
  readonly declared: string
  readonly args: string
  readonly fields: readonly string[]
  variables(id: number): object
}

const byId: KeyArguments = {
  declared: '$id: ID!',
  args: 'id: $id',
  fields: ['id'],
  variables: (id) => ({ id: String(id) }),
}

/** By `id`, or by each field of a key. */
function argumentsOf(record: RecordName): KeyArguments {
  const fields = keyFieldsOf(record, 0)
  if (fields === undefined) return byId
  const names = Object.keys(fields)
  return {
    declared: names.map((name) => `$${name}: Int!`).join(', '),
    args: names.map((name) => `${name}: $${name}`).join(', '),
    fields: names,
    variables: (id) => keyFieldsOf(record, id) ?? {},
  }
}

/** @param extra a further field to select */
export function openGraphql(
  app: Application,
  token: string | undefined,
  extra: string,
  send = graphqlSender(app, token),
  keyOf = argumentsOf,
): RecordClient {
  const selected = (fields: readonly string[]): string => `{ ${fields.join(' ')}${extra} }`
  return {
    list: (record, fields, options) =>
      send(
        `query (${listVariableTypes(record)}) { ${record.toLowerCase()}s(where: $where, orderBy: $orderBy) ${selected(fields)} }`,
        toVariables(options),
        fields,
      ),
    count: (record, { filter } = {}) =>
      send(
        `query ($where: ${record}Where) { ${record.toLowerCase()}Count(where: $where) }`,
        toVariables(filter && { filter }),
      ),
    find: (record, id, fields) =>
      send(
        `query (${keyOf(record).declared}) { ${record.toLowerCase()}(${keyOf(record).args}) ${selected(fields)} }`,
        keyOf(record).variables(id),
        fields,
      ),
    create: (record, input) =>
      send(
        `mutation ($input: ${record}Input) { create${record}(input: $input) ${selected(keyOf(record).fields)} }`,
        { input },
        keyOf(record).fields,
      ),
    update: (record, id, input) =>
      send(
        `mutation (${keyOf(record).declared}, $input: ${record}Input) { update${record}(${keyOf(record).args}, input: $input) ${selected(keyOf(record).fields)} }`,
        { ...keyOf(record).variables(id), input },
        keyOf(record).fields,
      ),
    delete: (record, id) =>
      send(
        `mutation (${keyOf(record).declared}) { delete${record}(${keyOf(record).args}) }`,
        keyOf(record).variables(id),
      ),
  }
}

/** Reads rows by pages and counts by aggregates, and writes one row by bulk mutations. */
export function openBulk(app: Application, token: string | undefined): RecordClient {
  const send = graphqlSender(app, token)
  const pick = async (pending: Promise<Result>, one: (value: unknown) => unknown) => {
    const result = await pending
    return result.outcome === 'done' ? { ...result, value: one(result.value) } : result
  }
  const page = async (record: RecordName, fields: readonly string[], options: object) => {
    const selection = `{ edges { node { ${fields.join(' ')} } } }`
    const query = `query (${listVariableTypes(record)}) { ${pluralOf(record)}Page(where: $where, orderBy: $orderBy) ${selection} }`
    const found = await pick(send(query, options, ['edges']), (value) => {
      const { edges } = value as { readonly edges: readonly { readonly node: unknown }[] }
      return edges.map(({ node }) => pickFields(node, fields))
    })
    return found
  }
  const first = (value: unknown): unknown => (value as readonly unknown[])[0]
  return {
    list: (record, fields, options) => page(record, fields, toVariables(options)),
    find: async (record, id, fields) => {
      const result = await page(record, fields, {
        where:
          keyFieldsOf(record, id) === undefined
            ? { id: { eq: String(id) } }
            : { place: { eq: id } },
      })
      const found = result.outcome === 'done' ? first(result.value) : undefined
      if (result.outcome !== 'done') return result
      return found === undefined ? { ...result, outcome: 'missing' } : { ...result, value: found }
    },
    count: (record, { filter } = {}) =>
      pick(
        send(
          `query ($where: ${record}Where) { ${pluralOf(record)}Aggregate(where: $where) { count } }`,
          toVariables(filter && { filter }),
          ['count'],
        ),
        (value) => (first(value) as { readonly count: number }).count,
      ),
    groups: (record, path) => {
      const [relation = '', field = ''] = path.split('.')
      const query = `{ ${pluralOf(record)}Aggregate(groupBy: [${relation}_${field}]) { count ${relation} { ${field} } } }`
      return pick(send(query, {}, ['count', relation]), (value) =>
        (value as Record<string, Record<string, unknown>>[]).map((row) => row[relation]?.[field]),
      )
    },
    create: (record, input) =>
      pick(
        send(
          `mutation ($input: [${record}Input!]!) { create${capitalize(pluralOf(record))}(input: $input) { ${argumentsOf(record).fields.join(' ')} } }`,
          { input: [input] },
          argumentsOf(record).fields,
        ),
        first,
      ),
    update: (record, id, input) =>
      pick(
        send(
          `mutation ($input: [${record}Changes!]!) { update${capitalize(pluralOf(record))}(input: $input) { ${argumentsOf(record).fields.join(' ')} } }`,
          { input: [{ ...argumentsOf(record).variables(id), ...input }] },
          argumentsOf(record).fields,
        ),
        first,
      ),
    delete: async (record, id) => {
      const result = await send(
        `mutation ($ids: [${keyFieldsOf(record, id) === undefined ? 'ID' : `${record}Key`}!]!) { delete${capitalize(pluralOf(record))}(ids: $ids) }`,
        { ids: [keyFieldsOf(record, id) ?? String(id)] },
      )
      if (result.outcome !== 'done') return result
      return result.value === 0
        ? { ...result, outcome: 'missing', value: undefined }
        : { ...result, value: true }
    },
  }
}

/** Uses global ids and the field `node`. */
export function openRelay(app: Application, token: string | undefined): RecordClient {
  const toPlain = (text: string): string =>
    text.replace(/[A-Za-z0-9+/]{8,}={0,2}/g, (word) => fromGlobalId(word)?.id ?? word)
  const send = graphqlSender(app, token, '/relay', toPlain)
  const plain = openGraphql(
    app,
    token,
    '',
    (query, variables, fields) =>
      send(query, Object.fromEntries(Object.entries(variables).map(globalOf(query))), fields),
    (record) => ({ ...byId, variables: (id) => ({ id: String(keyValueOf(record, id)) }) }),
  )
  return {
    ...plain,
    find: (record, id, fields) =>
      send(
        `query ($id: ID!) { node(id: $id) { ... on ${record} { ${fields.join(' ')} } } }`,
        { id: toGlobalId(record, keyValueOf(record, id)) },
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
      const titled = capitalize(name)
      if (name === 'id') return [name, { eq: toGlobalId(type, (one as { eq: string }).eq) }]
      if (/Id$/.test(name) && one !== null)
        return [name, toGlobalId(titled.slice(0, -2), one as number)]
      if (/Ids$/.test(name)) return [name, globalIds(one, titled.slice(0, -3))]
      if (name === 'connect' || name === 'disconnect')
        return [name, Array.isArray(one) ? globalIds(one, type.replace(/s$/, '')) : one]
      return [name, withGlobalIds(one, titled)]
    }),
  )
}

function globalIds(keys: unknown, type: string): string[] {
  return (keys as number[]).map((key) => toGlobalId(recordOf(type), key))
}

/** The record of a relation. Pins of tickets are notices; the others have the names of their records. */
function recordOf(relation: string): string {
  return relation === 'Pin' ? 'Notice' : relation
}

function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

const outcomesByCode: Readonly<Record<string, Result['outcome']>> = {
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
