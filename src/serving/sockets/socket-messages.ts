/**
 * The messages of graphql-transport-ws: what a client's bytes say, and the texts that go back. They know nothing of sockets.
 * Source: GraphQL over WebSocket Protocol (graphql-transport-ws), Message types.
 */
import { isMap, parseJson } from '../../core/json.js'
import { readJson } from '../../http/bodies/json.js'

/** How the result of what did not run begins. */
export const notRun = '{"errors":'

export type Message =
  | { readonly type: 'connection_init'; readonly payload: unknown }
  | { readonly type: 'ping' | 'pong' }
  | { readonly type: 'subscribe'; readonly id: string; readonly payload: object }
  | { readonly type: 'complete'; readonly id: string }

/** @returns undefined for what is no message of the protocol */
export function readMessage(data: Buffer): Message | undefined {
  const message = parseMessage(data)
  if (!isMap(message)) return undefined
  const { type, id, payload } = message
  switch (type) {
    case 'connection_init':
    case 'ping':
    case 'pong':
      return isOptionalMap(payload) ? { type, payload } : undefined
    case 'subscribe':
      return isId(id) && isOperation(payload) ? { type, id, payload } : undefined
    case 'complete':
      return isId(id) ? { type, id } : undefined
    default:
      return undefined
  }
}

/** With the limits of a JSON body. */
function parseMessage(data: Buffer): unknown {
  try {
    return readJson(data)
  } catch {
    return undefined
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The parameters of GraphQL over HTTP, `query` included. */
function isOperation(payload: unknown): payload is object {
  if (!isMap(payload) || typeof payload.query !== 'string') return false
  const { operationName, variables, extensions } = payload
  const isName =
    operationName === undefined || operationName === null || typeof operationName === 'string'
  return isName && isOptionalMap(variables) && isOptionalMap(extensions)
}

function isOptionalMap(value: unknown): boolean {
  return value === undefined || value === null || isMap(value)
}

/** Long ones would be sent back with each message. */
function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256
}

/** As a header, in either case of its first letter, or the token alone. */
export function readAuthorization(payload: unknown): string | undefined {
  if (!isMap(payload)) return undefined
  const { headers } = payload
  for (const from of isMap(headers) ? [payload, headers] : [payload]) {
    const header = from.authorization ?? from.Authorization
    if (typeof header === 'string') return header
  }
  return typeof payload.token === 'string' ? `Bearer ${payload.token}` : undefined
}

export function toError(id: string, errors: string): string {
  return `{"id":${JSON.stringify(id)},"type":"error","payload":${errors}}`
}

/** The errors of an answer in JSON: GraphQL's own, else the framework's in their form. */
export function readErrors(text: string): string {
  const answer = parse(text)
  if (isMap(answer)) {
    const { errors, error, code } = answer
    if (Array.isArray(errors) && errors.length > 0) return JSON.stringify(errors)
    const extensions = typeof code === 'string' ? { extensions: { code } } : {}
    if (typeof error === 'string') return JSON.stringify([{ message: error, ...extensions }])
  }
  return '[{"message":"Internal server error"}]'
}
