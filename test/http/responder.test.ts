import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/errors/http-error.js'
import { html, redirect, reply } from '../../src/http/reply.js'
import {
  answerOnce,
  answerTo,
  ask,
  askRaw,
  corsOf,
  corsPairs,
  plainRule,
  startAnswering,
  type Asked,
} from './answering-server.js'

const json = 'application/json; charset=utf-8'
const text = 'text/plain; charset=utf-8'
const masked = '{"error":"Internal server error"}'

class Lamp {
  readonly #secret = 1
  id = 7
  get secret(): number {
    return this.#secret
  }
}

function failWith(error: unknown, asked?: Asked) {
  return answerOnce(
    {
      answer: (request, responder) => {
        responder.fail(request, error)
      },
    },
    asked,
  )
}

describe('send', () => {
  it.each([
    ['an object', { id: 7, name: 'Lampe für 3 €' }, '{"id":7,"name":"Lampe für 3 €"}'],
    ['a list', [1, 'a', null], '[1,"a",null]'],
    ['an instance', new Lamp(), '{"id":7}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a number', 12.5, '12.5'],
    ['zero', 0, '0'],
    ['true', true, 'true'],
    ['false', false, 'false'],
  ])('answers %s as JSON', async (_what, result, body) => {
    const answer = await answerTo(result)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(body)
    expect(answer.headers['content-type']).toBe(json)
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(body)))
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it.each(['hello', 'Grüße', ''])('answers the string %j as plain text', async (result) => {
    const answer = await answerTo(result)
    expect(answer).toMatchObject({ status: 200, text: result })
    expect(answer.headers['content-type']).toBe(text)
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(result)))
  })

  it.each([
    ['a buffer', Buffer.from([0, 255, 128])],
    ['bytes', new Uint8Array([0, 255, 128])],
    ['a part of a buffer', new Uint8Array([9, 0, 255, 128, 9]).subarray(1, 4)],
    ['an ArrayBuffer', new Uint8Array([0, 255, 128]).buffer],
    ['a view', new DataView(new Uint8Array([9, 0, 255, 128]).buffer, 1)],
  ])('answers %s as bytes', async (_what, result) => {
    const answer = await answerTo(result)
    expect([...answer.bytes]).toEqual([0, 255, 128])
    expect(answer.headers['content-type']).toBe('application/octet-stream')
    expect(answer.headers['content-length']).toBe('3')
  })

  it.each([undefined, null])('answers %p with 204 and no body', async (result) => {
    const answer = await answerTo(result)
    expect(answer).toMatchObject({ status: 204, text: '' })
    expect(answer.headers['content-type']).toBeUndefined()
    expect(answer.headers['content-length']).toBeUndefined()
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it.each([undefined, null, reply(null)])(
    'answers %p with 404 where the route declares what it returns',
    async (result) => {
      const answer = await answerTo(result, {}, { status: 200, notFoundWhenEmpty: true })
      expect(answer).toMatchObject({ status: 404, text: '{"error":"Not found"}' })
      expect(answer.headers['content-type']).toBe(json)
    },
  )

  it('answers falsy values as values where the route declares what it returns', async () => {
    const rule = { status: 200, notFoundWhenEmpty: true }
    expect(await answerTo(0, {}, rule)).toMatchObject({ status: 200, text: '0' })
    expect(await answerTo('', {}, rule)).toMatchObject({ status: 200, text: '' })
    expect(await answerTo(false, {}, rule)).toMatchObject({ status: 200, text: 'false' })
  })

  it('uses the status of the route', async () => {
    const rule = { status: 201, notFoundWhenEmpty: false }
    expect((await answerTo({ id: 7 }, {}, rule)).status).toBe(201)
    expect((await answerTo('x', {}, rule)).status).toBe(201)
    expect((await answerTo(reply({ id: 7 }), {}, rule)).status).toBe(201)
    expect((await answerTo(reply({ id: 7 }, 202), {}, rule)).status).toBe(202)
    const empty = await answerTo(undefined, {}, rule)
    expect(empty.status).toBe(201)
    expect(empty.headers['content-length']).toBe('0')
  })

  it('sends no body with a status that has none', async () => {
    for (const result of [reply({ id: 7 }, 204), reply('x', 304), reply(Buffer.from('x'), 204)]) {
      const answer = await answerTo(result)
      expect(answer.status).toBe(result.status)
      expect(answer.text).toBe('')
      expect(answer.headers['content-type']).toBeUndefined()
    }
    const ruled = await answerTo({ id: 7 }, {}, { status: 204, notFoundWhenEmpty: false })
    expect(ruled).toMatchObject({ status: 204, text: '' })
  })

  it.each([
    ['a cycle', cycle()],
    ['a bigint', 7n],
    ['a bigint inside', { id: 7n }],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('secret')
        },
      },
    ],
    ['a toJSON that gives nothing', { toJSON: () => undefined }],
    ['an error', new Error('secret')],
    ['a reply with a cycle', reply(cycle(), 201)],
  ])('masks and logs %s', async (_what, result) => {
    const answer = await answerTo(result)
    expect(answer).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(answer.log).toHaveLength(1)
    expect(answer.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
    expect(answer.log[0]?.details['requestId']).toBe(answer.headers['x-request-id'])
  })

  it('answers an HttpError that was returned like one that was thrown', async () => {
    const answer = await answerTo(new HttpError(404, 'No such item'))
    expect(answer).toMatchObject({ status: 404, text: '{"error":"No such item"}', log: [] })
  })
})

describe('send with a reply', () => {
  it('sends status, headers and body', async () => {
    const made = reply({ id: 7 }, 201).header('X-Shelf', '3').freshToken('abc')
    const answer = await answerTo(made)
    expect(answer).toMatchObject({ status: 201, text: '{"id":7}' })
    expect(answer.headers).toMatchObject({
      'x-shelf': '3',
      freshtoken: 'abc',
      'content-type': json,
    })
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it('sends each cookie in a header of its own', async () => {
    const answer = await answerTo(reply(1).cookie('a', '1').cookie('b', '2'))
    const cookies = answer.pairs.filter(([name]) => name === 'set-cookie').map(([, value]) => value)
    expect(cookies).toEqual([
      'a=1; Path=/; HttpOnly; SameSite=Lax',
      'b=2; Path=/; HttpOnly; SameSite=Lax',
    ])
  })

  it.each([
    ['text', reply('a,b').type('text/csv'), 'a,b'],
    ['JSON text', reply('{"a":1}').type('text/csv'), '{"a":1}'],
    ['data', reply({ a: 1 }).type('text/csv'), '{"a":1}'],
    ['bytes', reply(Buffer.from('a')).header('Content-Type', 'text/csv'), 'a'],
    ['nothing', reply(null, 200).type('text/csv'), ''],
  ])('sends %s with the type it was given', async (_what, made, body) => {
    const answer = await answerTo(made)
    expect(answer.text).toBe(body)
    expect(answer.pairs.filter(([name]) => name === 'content-type')).toEqual([
      ['content-type', 'text/csv'],
    ])
  })

  it('sends pages', async () => {
    const answer = await answerTo(html('<p>ü</p>'))
    expect(answer.text).toBe('<p>ü</p>')
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('sends redirects', async () => {
    const answer = await answerTo(redirect('/next', 303))
    expect(answer).toMatchObject({ status: 303, text: '' })
    expect(answer.headers).toMatchObject({ location: '/next', 'content-length': '0' })
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it('counts the bytes itself, whatever the reply says', async () => {
    const answer = await answerTo(reply('abc').header('Content-Length', 99))
    expect(answer.headers['content-length']).toBe('3')
    expect(answer.text).toBe('abc')
  })
})

describe('HEAD', () => {
  it.each([
    ['data', { id: 7 }],
    ['text', 'hello'],
    ['bytes', Buffer.from('hello')],
    ['a reply', reply('x', 201).header('X-A', '1')],
    ['nothing', null],
  ])('sends %s with the same head and no body', async (_what, result) => {
    const whole = await answerTo(result)
    const head = await answerTo(result, { method: 'HEAD' })
    expect(head.status).toBe(whole.status)
    expect(head.text).toBe('')
    expect(withoutDate(head.headers)).toEqual(withoutDate(whole.headers))
  })

  it('puts no byte behind the head', async () => {
    await using server = await startAnswering({
      answer: (request, responder) => {
        if (request.path === '/fail') responder.fail(request, new HttpError(404))
        else responder.send(request, { id: 7 }, plainRule)
      },
    })
    for (const path of ['/', '/fail']) {
      const bytes = await askRaw(
        server.port,
        `HEAD ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      )
      expect(bytes.endsWith('\r\n\r\n')).toBe(true)
      expect(bytes).toMatch(/Content-Length: [1-9]/)
      expect(bytes).not.toContain('{')
    }
  })
})

describe('headers collected on the request', () => {
  function collecting(result: unknown, asked?: Asked) {
    return answerOnce(
      {
        answer: (request, responder) => {
          request.addHeader('FreshToken', 'rotated')
          request.addHeader('Set-Cookie', 'app_session=1')
          if (result instanceof Error) responder.fail(request, result)
          else responder.send(request, result, plainRule)
        },
      },
      asked,
    )
  }

  it.each([
    ['data', { id: 7 }],
    ['text', 'x'],
    ['nothing', null],
    ['a redirect', redirect('/')],
    ['an error', new HttpError(404)],
    ['a failure', new Error('x')],
  ])('go out with %s', async (_what, result) => {
    const answer = await collecting(result)
    expect(answer.headers).toMatchObject({ freshtoken: 'rotated', 'set-cookie': 'app_session=1' })
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it('yield to those of the reply, except cookies, which add up', async () => {
    const answer = await collecting(reply({ ok: true }).freshToken('mine').cookie('a', '1'))
    expect(answer.headers['freshtoken']).toBe('mine')
    expect(answer.headers['set-cookie']).toBe('a=1; Path=/; HttpOnly; SameSite=Lax, app_session=1')
  })

  it('make the answer a masked 500 when they cannot be sent', async () => {
    const answer = await answerOnce({
      answer: (request, responder) => {
        request.responseHeaders = ['X-Note', 'a\r\nSet-Cookie: x=1']
        responder.send(request, { id: 7 }, plainRule)
      },
    })
    expect(answer).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.headers['x-request-id']).toBe(answer.log[0]?.details['requestId'])
    expect(answer.log.some(({ details }) => String(details['err']).includes('X-Note'))).toBe(true)
  })

  it('are refused when they are added, if they cannot be sent', async () => {
    const answer = await answerOnce({
      answer: (request, responder) => {
        try {
          request.addHeader('X-Note', 'a\r\nb')
        } catch (error) {
          responder.send(request, (error as Error).message, plainRule)
        }
      },
    })
    expect(answer.text).toBe(
      'Header "X-Note": the value contains CR or LF. Take the line breaks out.',
    )
  })
})

describe('fail', () => {
  it('answers an HttpError and logs nothing', async () => {
    const answer = await failWith(new HttpError(404, 'No such item'))
    expect(answer).toMatchObject({ status: 404, text: '{"error":"No such item"}', log: [] })
    expect(answer.headers['content-type']).toBe(json)
    expect(answer.headers['x-request-id']).toBeUndefined()
    expect(corsOf(answer)).toEqual(corsPairs)
  })

  it('answers problem+json where it is asked for', async () => {
    const answer = await failWith(
      new HttpError(401, undefined, { headers: { 'WWW-Authenticate': 'Bearer' } }),
      {
        headers: { accept: 'application/problem+json' },
      },
    )
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'www-authenticate': 'Bearer',
    })
    expect(JSON.parse(answer.text)).toMatchObject({ status: 401, error: 'Unauthorized' })
  })

  it('masks everything else, logs it with the request id and sends the id', async () => {
    const error = new Error('password is hunter2')
    const answer = await failWith(error, { path: '/items/7?key=secret' })
    expect(answer).toMatchObject({ status: 500, text: masked })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(answer.log).toEqual([
      {
        level: 'error',
        message: 'request failed',
        details: {
          err: error,
          requestId: answer.headers['x-request-id'],
          method: 'GET',
          path: '/items/7',
        },
      },
    ])
  })

  it('keeps a sane request id and replaces another', async () => {
    const kept = await failWith(new Error('x'), { headers: { 'x-request-id': 'abc-1' } })
    expect(kept.headers['x-request-id']).toBe('abc-1')
    const replaced = await failWith(new Error('x'), { headers: { 'x-request-id': 'a b<script>' } })
    expect(replaced.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('logs an HttpError of the 500s, whose message is meant for the client', async () => {
    const answer = await failWith(new HttpError(503, 'Come back later'))
    expect(answer).toMatchObject({ status: 503, text: '{"error":"Come back later"}' })
    expect(answer.log[0]?.details['requestId']).toBe(answer.headers['x-request-id'])
  })

  it("keeps a client's mistake with a cause for the debug log", async () => {
    const answer = await failWith(new HttpError(400, 'Malformed', { cause: new Error('URI') }))
    expect(answer.status).toBe(400)
    expect(answer.log.map(({ level }) => level)).toEqual(['debug'])
  })

  it('masks an error whose headers cannot be sent', async () => {
    const answer = await failWith(new HttpError(400, 'x', { headers: { Allow: 'GET\r\nX: 1' } }))
    expect(answer).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(answer.headers['x']).toBeUndefined()
    expect(answer.log[0]?.level).toBe('error')
  })

  it('cuts the answer off when its head is out', async () => {
    const answer = await answerOnce({
      answer: (request, responder) => {
        request.outgoing.writeHead(200, ['Content-Length', '10'])
        request.outgoing.write('abc')
        setImmediate(() => {
          responder.fail(request, new Error('too late'))
        })
      },
    })
    expect(answer).toMatchObject({ status: 200, text: 'abc', complete: false })
    expect(answer.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
  })

  it('leaves a finished answer alone', async () => {
    const answer = await answerOnce({
      answer: (request, responder) => {
        responder.send(request, { id: 7 }, plainRule)
        responder.send(request, { id: 8 }, plainRule)
        responder.fail(request, new Error('too late'))
      },
    })
    expect(answer).toMatchObject({ status: 200, text: '{"id":7}', complete: true })
    expect(answer.log).toHaveLength(1)
  })

  it('keeps the connection for the next request', async () => {
    await using server = await startAnswering({
      answer: (request, responder) => {
        if (request.path === '/bad') responder.fail(request, new HttpError(404))
        else responder.send(request, request.path, plainRule)
      },
    })
    const head = 'HTTP/1.1\r\nHost: a\r\n'
    const bytes = await askRaw(
      server.port,
      `GET /bad ${head}\r\nGET /good ${head}Connection: close\r\n\r\n`,
    )
    expect(bytes.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

describe('a client that has gone', () => {
  it('is answered nothing, and its aborted handler is no failure', async () => {
    let report: (names: string[]) => void = () => undefined
    const done = new Promise<string[]>((resolve) => (report = resolve))
    await using server = await startAnswering({
      answer: (request, responder) => {
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
    await askRaw(server.port, 'GET /leave HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await done).toEqual(['a real one'])
    expect((await ask(server.port)).text).toBe('still here')
  })
})

function cycle(): object {
  const node: { self?: object } = {}
  node.self = node
  return node
}

function withoutDate({ date: _date, ...headers }: Record<string, string>): object {
  return headers
}
