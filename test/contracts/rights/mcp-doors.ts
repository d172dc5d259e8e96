/** Clients that use MCP: the routes of `crud` as tools, and the tool `query`. */
import type { Application } from '../../../src/index.js'
import { crudVerdicts } from './crud-doors.js'
import { shown, type Answer, type Door, type Question } from './door.js'
import { openGraphql, toAnswer, type GraphqlBody, type Send } from './graphql-doors.js'
import type { RecordName } from './world.js'

interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}

interface Told {
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
  return async (name: string, given: object): Promise<Told> => {
    const params = { name, arguments: given }
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { status, body } = await app.inject({ method: 'POST', url: '/mcp', headers, json })
    // A response that is not 200 has another body.
    return { ...(status === 200 && (JSON.parse(body) as object)), status, body }
  }
}

/** @returns undefined where the tool was called */
function refusalOf({ status, body, error }: Told, isThere: boolean): Answer | undefined {
  const text = `${status} ${body}`
  if (status === 401) return { verdict: 'unauthenticated', value: undefined, text }
  if (error?.message.startsWith('Unknown tool: ') === true)
    return { verdict: isThere ? 'forbidden' : 'none', value: undefined, text }
  if (status === 200 && error === undefined) return undefined
  throw new Error(text)
}

/** Tools that are not offered to any caller. */
const closed = /^(?:entry(?:Create|Update|Delete)|visitDelete)$/

export function openTools(app: Application, token: string | undefined): Door {
  const call = toolCaller(app, token)
  const send = async (record: RecordName, what: string, given: object): Promise<Answer> => {
    const name = `${record.toLowerCase()}${what}`
    const told = await call(name, given)
    const refused = refusalOf(told, !closed.test(name))
    if (refused !== undefined) return refused
    const { isError, content } = told.result as ToolResult
    const text = content[0]?.text ?? ''
    const verdict = isError === true ? crudVerdicts[Number(text.slice(0, 3))] : 'done'
    if (verdict === undefined) throw new Error(`${name}: ${text}`)
    const isJson = isError !== true && text !== 'Done.'
    return { verdict, value: isJson ? JSON.parse(text) : undefined, text: told.body }
  }
  return {
    list: async (record, fields, question) => {
      const answer = await send(record, 'List', asked(question))
      return { ...answer, value: shown(answer.value, fields) }
    },
    count: async (record, question) => {
      const answer = await send(record, 'Aggregate', { ...asked(question), count: 'true' })
      const [row] = (answer.value ?? []) as { readonly count: number }[]
      return { ...answer, value: row?.count }
    },
    find: async (record, id, fields) => {
      const answer = await send(record, 'Find', { id })
      return { ...answer, value: shown(answer.value, fields) }
    },
    create: (record, values) => send(record, 'Create', values),
    update: (record, id, values) => send(record, 'Update', { id, ...values }),
    delete: async (record, id) => {
      const answer = await send(record, 'Delete', { id })
      return { ...answer, value: answer.verdict === 'done' }
    },
  }
}

/** Uses the tool `query`. */
export function openQuery(app: Application, token: string | undefined): Door {
  const call = toolCaller(app, token)
  const send: Send = async (query, variables, fields = []) => {
    const told = await call('query', { query, variables })
    const refused = refusalOf(told, true)
    if (refused !== undefined) return refused
    const { isError, content } = told.result as ToolResult
    const text = content[0]?.text ?? ''
    if (isError !== true) return toAnswer(JSON.parse(text) as GraphqlBody, told.body, fields)
    // The operation is not in the schema.
    const isNone = /^400 (?:Cannot query field|Unknown type)/.test(text)
    const verdict = isNone ? 'none' : crudVerdicts[Number(text.slice(0, 3))]
    if (verdict === undefined) throw new Error(`${query}: ${text}`)
    return { verdict, value: undefined, text: told.body }
  }
  return openGraphql(app, token, '', send)
}

function asked({ filter, orderBy }: Question = {}): object {
  return {
    ...(filter && { [`${filter.path}.${filter.operator}`]: filter.value }),
    ...(orderBy !== undefined && { orderBy: [orderBy] }),
  }
}
