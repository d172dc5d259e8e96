import { describe, expect, it } from '@jest/globals'
import { HttpError, redirect, reply } from '../../src/index.js'
import {
  HeaderList,
  respondOnce,
  respondWith,
  sendBytes,
  corsOf,
  corsPairs,
  plainRule,
  startResponderServer,
  type SentRequest,
} from './responder-server.js'

const masked = '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}'

describe('HEAD', () => {
  it.each([
    ['data', { id: 7 }],
    ['text', 'hello'],
    ['bytes', Buffer.from('hello')],
    ['a reply', reply('x', 201).header('X-A', '1')],
    ['nothing', null],
  ])('sends %s with the same head, without a body', async (_what, result) => {
    const complete = await respondWith(result)
    const head = await respondWith(result, { method: 'HEAD' })
    expect(head.status).toBe(complete.status)
    expect(head.text).toBe('')
    expect(withoutDate(head.headers)).toEqual(withoutDate(complete.headers))
  })

  it('sends no byte after the head', async () => {
    await using server = await startResponderServer({
      handle: (request, responder) => {
        if (request.path === '/fail') responder.fail(request, new HttpError(404))
        else responder.send(request, { id: 7 }, plainRule)
      },
    })
    for (const path of ['/', '/fail']) {
      const bytes = await sendBytes(
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
  function collecting(result: unknown, sent?: SentRequest) {
    return respondOnce(
      {
        handle: (request, responder) => {
          request.addHeader('FreshToken', 'rotated')
          request.addHeader('Set-Cookie', 'app_session=1')
          if (result instanceof Error) responder.fail(request, result)
          else responder.send(request, result, plainRule)
        },
      },
      sent,
    )
  }

  it.each([
    ['data', { id: 7 }],
    ['text', 'x'],
    ['nothing', null],
    ['a redirect', redirect('/')],
    ['an error', new HttpError(404)],
    ['a failure', new Error('x')],
  ])('are sent with %s', async (_what, result) => {
    const response = await collecting(result)
    expect(response.headers).toMatchObject({ freshtoken: 'rotated', 'set-cookie': 'app_session=1' })
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it('are overridden by headers of the reply, except cookies, which are added', async () => {
    const response = await collecting(reply({ ok: true }).freshToken('mine').cookie('a', '1'))
    expect(response.headers['freshtoken']).toBe('mine')
    expect(response.headers['set-cookie']).toBe(
      'a=1; Path=/; HttpOnly; SameSite=Lax, app_session=1',
    )
  })

  it('lead to a masked 500 when they cannot be sent', async () => {
    const response = await respondOnce({
      handle: (request, responder) => {
        request.response.headers = HeaderList.from({ 'X-Note': 'a\r\nSet-Cookie: x=1' })
        responder.send(request, { id: 7 }, plainRule)
      },
    })
    expect(response).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(response.headers['set-cookie']).toBeUndefined()
    expect(response.headers['x-request-id']).toBe(response.log[0]?.details['requestId'])
    expect(response.log.some(({ details }) => String(details['err']).includes('X-Note'))).toBe(true)
  })

  it('are refused when they are added, if they cannot be sent', async () => {
    const response = await respondOnce({
      handle: (request, responder) => {
        try {
          request.addHeader('X-Note', 'a\r\nb')
        } catch (error) {
          responder.send(request, (error as Error).message, plainRule)
        }
      },
    })
    expect(response.text).toBe(
      'Header "X-Note": the value contains CR or LF. Take the line breaks out.',
    )
  })
})

function withoutDate({ date: _date, ...headers }: Record<string, string>): object {
  return headers
}
