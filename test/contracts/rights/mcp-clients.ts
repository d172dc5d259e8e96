/** Clients that use MCP: the routes of `crud` as tools, and the tool `query`. */
import type { Application } from '../../../src/index.js'
import { outcomesByStatus } from './http-sender.js'
import {
  keyFieldsOf,
  keysOf,
  pickFields,
  type Result,
  type RecordClient,
  type ListOptions,
} from './record-client.js'
import { openGraphql, toResult, type GraphqlBody, type Send } from './graphql-clients.js'
import type { RecordName } from './fixture.js'

interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}

interface ToolResponse {
  readonly status: number
  readonly body: string
  readonly result?: ToolResult
  readonly error?: { readonly code: number; readonly message: string }
}

/** Calls a tool like a client of an older MCP revision, without a session. */
function toolCaller(app: Application, token: string | undefined) {
  const headers: Record<string, string> = {
    accept: 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  return async (name: string, input: object): Promise<ToolResponse> => {
    const params = { name, arguments: input }
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { status, body } = await app.inject({ method: 'POST', url: '/mcp', headers, json })
    // A response that is not 200 has another body.
    return { ...(status === 200 && (JSON.parse(body) as object)), status, body }
  }
}

/** @returns undefined where the tool was called */
function refusalOf({ status, body, error }: ToolResponse, exists: boolean): Result | undefined {
  const text = `${status} ${body}`
  if (status === 401) return { outcome: 'unauthenticated', value: undefined, text }
  if (error?.message.startsWith('Unknown tool: ') === true)
    return { outcome: exists ? 'forbidden' : 'none', value: undefined, text }
  if (status === 200 && error === undefined) return undefined
  throw new Error(text)
}

/** Tools that are not offered to any caller. */
const closedTools = /^(?:entry(?:Create|Update|Delete)|visitDelete)$/

export function openTools(app: Application, token: string | undefined): RecordClient {
  const call = toolCaller(app, token)
  const send = async (record: RecordName, operation: string, input: object): Promise<Result> => {
    const name = `${record.toLowerCase()}${operation}`
    const response = await call(name, input)
    const refusal = refusalOf(response, !closedTools.test(name))
    if (refusal !== undefined) return refusal
    const { isError, content } = response.result as ToolResult
    const text = content[0]?.text ?? ''
    const outcome = isError === true ? outcomesByStatus[Number(text.slice(0, 3))] : 'done'
    if (outcome === undefined) throw new Error(`${name}: ${text}`)
    const value: unknown = isError === true ? undefined : text === 'Done.' ? {} : JSON.parse(text)
    return { outcome, value, text: response.body }
  }
  return {
    list: async (record, fields, options) => {
      const result = await send(record, 'List', toArguments(options))
      return { ...result, value: pickFields(result.value, fields) }
    },
    count: async (record, options) => {
      const result = await send(record, 'Aggregate', { ...toArguments(options), count: 'true' })
      const [row] = (result.value ?? []) as { readonly count: number }[]
      return { ...result, value: row?.count }
    },
    groups: async (record, path) =>
      keysOf(await send(record, 'Aggregate', { groupBy: [path] }), path),
    find: async (record, id, fields) => {
      const result = await send(record, 'Find', keyFieldsOf(record, id) ?? { id })
      return { ...result, value: pickFields(result.value, fields) }
    },
    create: (record, values) => send(record, 'Create', values),
    update: (record, id, values) =>
      send(record, 'Update', { ...(keyFieldsOf(record, id) ?? { id }), ...values }),
    delete: async (record, id) => {
      const result = await send(record, 'Delete', keyFieldsOf(record, id) ?? { id })
      return { ...result, value: result.outcome === 'done' }
    },
  }
}

/** Uses the tool `query`. */
export function openQuery(app: Application, token: string | undefined): RecordClient {
  const call = toolCaller(app, token)
  const send: Send = async (query, variables, fields = []) => {
    const response = await call('query', { query, variables })
    const refusal = refusalOf(response, true)
    if (refusal !== undefined) return refusal
    const { isError, content } = response.result as ToolResult
    const text = content[0]?.text ?? ''
    if (isError !== true) return toResult(JSON.parse(text) as GraphqlBody, response.body, fields)
    // The operation is not in the schema.
    const isNone = /^400 (?:Cannot query field|Unknown type)/.test(text)
    const outcome = isNone ? 'none' : outcomesByStatus[Number(text.slice(0, 3))]
    if (outcome === undefined) throw new Error(`${query}: ${text}`)
    return { outcome, value: undefined, text: response.body }
  }
  return openGraphql(app, token, '', send)
}

function toArguments({ filter, orderBy }: ListOptions = {}): object {
  return {
    ...(filter && { [`${filter.path}.${filter.operator}`]: filter.value }),
    ...(orderBy !== undefined && { orderBy: [orderBy] }),
  }
}
