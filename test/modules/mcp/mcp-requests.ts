/** Sends messages to `/mcp` like clients of the latest revision. */
import type { TestApplication } from 'filigree/testing'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

export interface McpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly result?: Result
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface Result {
  readonly isError?: boolean
  readonly content?: readonly { readonly text: string; readonly _meta?: unknown }[]
  readonly structuredContent?: unknown
  readonly tools?: readonly Tool[]
  readonly [member: string]: unknown
}

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly annotations: Readonly<Record<string, unknown>>
}

export interface Sending {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly params?: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Sends one request of revision 2026-07-28. */
export async function sendRequest(
  desk: TestApplication,
  method: string,
  { token, headers = {}, params = {}, meta: customMeta = {} }: Sending = {},
): Promise<McpResponse> {
  const name = params.name ?? params.uri
  const all: Readonly<Record<string, string | undefined>> = {
    accept: 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': typeof name === 'string' ? name : undefined,
    ...headers,
  }
  const sent = Object.entries(all).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const json = {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { ...params, _meta: { ...meta, ...customMeta } },
  }
  return post(desk, json, {
    ...Object.fromEntries(sent),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  })
}

/** Sends any JSON. */
export async function post(
  desk: TestApplication,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<McpResponse> {
  const response = await desk.app.inject({ method: 'POST', url: '/mcp', headers, json })
  const body = (response.body.startsWith('{') ? response.json() : {}) as Omit<
    McpResponse,
    'status' | 'headers'
  >
  return { ...body, status: response.status, headers: response.headers }
}

/** Calls a tool. */
export async function call(
  desk: TestApplication,
  name: string,
  args: unknown,
  sending: Sending = {},
): Promise<McpResponse> {
  return sendRequest(desk, 'tools/call', {
    ...sending,
    params: { name, arguments: args, ...sending.params },
  })
}

/** The names of the tools that a caller may see. */
export async function toolsOf(desk: TestApplication, token?: string): Promise<readonly Tool[]> {
  const { result } = await sendRequest(desk, 'tools/list', token === undefined ? {} : { token })
  return result?.tools ?? []
}
