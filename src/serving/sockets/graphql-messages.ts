/**
 * The messages and close codes of the protocol graphql-transport-ws. Source: GraphQL over WebSocket Protocol
 * (graphql-transport-ws).
 */

import { isMap, parseJson } from '../../core/json.js'
import { readJson } from '../../http/bodies/json.js'

export const subprotocol = 'graphql-transport-ws'

export const closeCodes = {
  goingAway: 1001,
  tryAgain: 1013,
  invalid: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  notAcceptable: 4406,
  noInit: 4408,
  idInUse: 4409,
  tooMany: 4429,
  internal: 4500,
} as const

export type ClientMessage =
  | { readonly type: 'connection_init'; readonly payload: unknown }
  | { readonly type: 'ping' | 'pong' }
  | { readonly type: 'subscribe'; readonly id: string; readonly payload: object }
  | { readonly type: 'complete'; readonly id: string }

/** @returns undefined if the data is not a message of the protocol */
export function readClientMessage(data: Buffer): ClientMessage | undefined {
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

/** Applies the limits of a JSON body. */
function parseMessage(data: Buffer): unknown {
  try {
    return readJson(data)
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

/** Long IDs are refused, because each message repeats the ID. */
function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256
}

/** Reads the token of `connection_init`: as a header with either case of its first letter, or as the plain token. */
export function readAuthorization(payload: unknown): string | undefined {
  if (!isMap(payload)) return undefined
  const { headers } = payload
  for (const from of isMap(headers) ? [payload, headers] : [payload]) {
    const header = from.authorization ?? from.Authorization
    if (typeof header === 'string') return header
  }
  return typeof payload.token === 'string' ? `Bearer ${payload.token}` : undefined
}

export function writeErrorMessage(id: string, errors: string): string {
  return `{"id":${JSON.stringify(id)},"type":"error","payload":${errors}}`
}

/** Reads the errors of a JSON response as JSON: GraphQL errors, otherwise the framework's error in their shape. */
export function readErrors(text: string): string {
  const response = parseResponse(text)
  if (isMap(response)) {
    const { errors, error, code } = response
    if (Array.isArray(errors) && errors.length > 0) return JSON.stringify(errors)
    const extensions = typeof code === 'string' ? { extensions: { code } } : {}
    if (typeof error === 'string') return JSON.stringify([{ message: error, ...extensions }])
  }
  return '[{"message":"Internal server error"}]'
}

function parseResponse(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** True for an execution result whose operation did not run. */
export function isRequestError(result: string): boolean {
  return result.startsWith('{"errors":')
}
