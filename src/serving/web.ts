import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createIncoming, FakeResponse } from '../http/fake-messages.js'
import type { Dispatcher } from './dispatcher.js'

const withoutBody: readonly number[] = [204, 205, 304]

/**
 * Serves a web-standard `Request` through the pipeline of the server. Source: Fetch standard.
 *
 * @returns the response, whose body streams. Rejects only if the connection was cut off before the response began
 */
export async function handleWebRequest(
  dispatcher: Pick<Dispatcher, 'serve'>,
  request: Request,
): Promise<Response> {
  const url = new URL(request.url)
  const headers = new Headers(request.headers)
  if (!headers.has('host')) headers.set('host', url.host)
  const hasBody = request.body !== null
  const isFramed = headers.has('content-length') || headers.has('transfer-encoding')
  if (hasBody && !isFramed) headers.set('transfer-encoding', 'chunked')
  const incoming = createIncoming({
    method: request.method,
    url: url.pathname + url.search,
    headers,
    encrypted: url.protocol === 'https:',
    body: hasBody ? Readable.fromWeb(request.body as ReadableStream<Uint8Array>) : undefined,
  })
  const outgoing = new FakeResponse()
  if (request.signal.aborted) outgoing.destroy()
  else {
    request.signal.addEventListener('abort', () => outgoing.destroy(), { once: true })
    dispatcher.serve(incoming, outgoing)
  }
  const head = await outgoing.head
  return toResponse(outgoing, head.status, head.headers, request.method === 'HEAD')
}

function toResponse(
  outgoing: FakeResponse,
  status: number,
  list: readonly string[],
  isHead: boolean,
): Response {
  const headers = new Headers()
  for (let index = 0; index + 1 < list.length; index += 2) {
    const name = list[index] ?? ''
    // These headers concern the connection. The server that sends the response sets them.
    if (!/^(?:connection|transfer-encoding)$/i.test(name))
      headers.append(name, list[index + 1] ?? '')
  }
  if (isHead || withoutBody.includes(status)) {
    outgoing.body.resume()
    return new Response(null, { status, headers })
  }
  const body = Readable.toWeb(outgoing.body) as globalThis.ReadableStream<Uint8Array>
  return new Response(body, { status, headers })
}
