import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import {
  respondOnce,
  sendRequest,
  sendBytes,
  corsOf,
  corsPairs,
  plainRule,
  startResponderServer,
  type SentRequest,
} from './responder-server.js'

const json = 'application/json; charset=utf-8'
const masked = '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}'

function failWith(error: unknown, sent?: SentRequest) {
  return respondOnce(
    {
      handle: (request, responder) => {
        responder.fail(request, error)
      },
    },
    sent,
  )
}

describe('fail', () => {
  it('sends an HttpError and logs it only at debug', async () => {
    const response = await failWith(new HttpError(404, 'No such item'))
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"No such item","code":"NOT_FOUND"}',
    })
    expect(response.log.map(({ level }) => level)).toEqual(['debug'])
    expect(response.headers['content-type']).toBe(json)
    // The log line has the same id.
    expect(response.headers['x-request-id']).toBeDefined()
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it('sends problem+json where requested', async () => {
    const response = await failWith(
      new HttpError(401, undefined, { headers: { 'WWW-Authenticate': 'Bearer' } }),
      {
        headers: { accept: 'application/problem+json' },
      },
    )
    expect(response.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'www-authenticate': 'Bearer',
    })
    expect(JSON.parse(response.text)).toMatchObject({ status: 401, error: 'Unauthorized' })
  })

  it('masks every other error, logs it with the request id and sends the id', async () => {
    const error = new Error('password is hunter2')
    const response = await failWith(error, { path: '/items/7?key=secret' })
    expect(response).toMatchObject({ status: 500, text: masked })
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(response.log).toEqual([
      {
        level: 'error',
        message: 'request failed',
        details: {
          err: error,
          requestId: response.headers['x-request-id'],
          method: 'GET',
          path: '/items/7',
        },
      },
    ])
  })

  it('masks an error that throws when its properties are read', async () => {
    const refuse = (): never => {
      throw new Error('Do not look.')
    }
    const hostile = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse })
    const response = await failWith(hostile)
    expect(response).toMatchObject({ status: 500, text: masked })
    expect(response.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
    expect(response.log[0]?.details['requestId']).toBe(response.headers['x-request-id'])
  })

  it('keeps a valid request id and replaces another', async () => {
    const first = await failWith(new Error('x'), { headers: { 'x-request-id': 'abc-1' } })
    expect(first.headers['x-request-id']).toBe('abc-1')
    const replaced = await failWith(new Error('x'), { headers: { 'x-request-id': 'a b<script>' } })
    expect(replaced.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('logs an HttpError of the 500s, whose message is for the client', async () => {
    const response = await failWith(new HttpError(503, 'Come back later'))
    expect(response).toMatchObject({
      status: 503,
      text: '{"error":"Come back later","code":"SERVICE_UNAVAILABLE"}',
    })
    expect(response.log[0]?.details['requestId']).toBe(response.headers['x-request-id'])
  })

  it('stores a client error with a cause in the debug log', async () => {
    const response = await failWith(new HttpError(400, 'Malformed', { cause: new Error('URI') }))
    expect(response.status).toBe(400)
    expect(response.log.map(({ level }) => level)).toEqual(['debug'])
  })

  it('masks an error whose headers cannot be sent', async () => {
    const response = await failWith(new HttpError(400, 'x', { headers: { Allow: 'GET\r\nX: 1' } }))
    expect(response).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(response.headers['x']).toBeUndefined()
    expect(response.log.at(-1)?.level).toBe('error')
  })

  it('cuts off the response when its head was sent', async () => {
    const response = await respondOnce({
      handle: (request, responder) => {
        request.outgoing.writeHead(200, ['Content-Length', '10'])
        request.outgoing.write('abc')
        setImmediate(() => {
          responder.fail(request, new Error('too late'))
        })
      },
    })
    expect(response).toMatchObject({ status: 200, text: 'abc', complete: false })
    expect(response.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
  })

  it('does not change a finished response', async () => {
    const response = await respondOnce({
      handle: (request, responder) => {
        responder.send(request, { id: 7 }, plainRule)
        responder.send(request, { id: 8 }, plainRule)
        responder.fail(request, new Error('too late'))
      },
    })
    expect(response).toMatchObject({ status: 200, text: '{"id":7}', complete: true })
    expect(response.log).toHaveLength(1)
  })

  it('keeps the connection for the next request', async () => {
    await using server = await startResponderServer({
      handle: (request, responder) => {
        if (request.path === '/bad') responder.fail(request, new HttpError(404))
        else responder.send(request, request.path, plainRule)
      },
    })
    const head = 'HTTP/1.1\r\nHost: a\r\n'
    const bytes = await sendBytes(
      server.port,
      `GET /bad ${head}\r\nGET /good ${head}Connection: close\r\n\r\n`,
    )
    expect(bytes.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

describe('a disconnected client', () => {
  it('receives nothing, and its aborted handler is not a failure', async () => {
    let report: (names: string[]) => void = () => undefined
    const done = new Promise<string[]>((resolve) => (report = resolve))
    await using server = await startResponderServer({
      handle: (request, responder) => {
        if (request.path !== '/leave') {
          responder.send(request, 'still here', plainRule)
          return
        }
        request.signal.addEventListener('abort', () => {
          responder.fail(request, request.signal.reason)
          responder.send(request, { id: 7 }, plainRule)
          responder.fail(request, new Error('a real one'))
          report(server.log.map(({ details }) => (details['err'] as Error).message))
        })
        ;(request.incoming.socket as unknown as { destroy: () => void }).destroy()
      },
    })
    await sendBytes(server.port, 'GET /leave HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await done).toEqual(['a real one'])
    expect((await sendRequest(server.port)).text).toBe('still here')
  })
})
