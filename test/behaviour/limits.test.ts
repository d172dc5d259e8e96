/** Source: decisions, Requests. Titles begin with the statement that they check. Upload limits have their own file. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectResponse } from '../../src/index.js'
import { bodyOf, exchange, statusOf } from '../bootstrap/raw-client.js'
import { expectError } from './error-responses.js'
import { form, json, startBodies } from './body-application.js'

let app: Application

beforeAll(async () => {
  app = await startBodies()
})
afterAll(() => app.close())

function post(type: string, body: string | Uint8Array, url = '/any'): Promise<InjectResponse> {
  return app.inject({ method: 'POST', url, headers: { 'content-type': type }, body })
}

const mebi = 1024 * 1024

describe('Requests, Limits', () => {
  const ofLength = (length: number): string => `"${'a'.repeat(length - 2)}"`

  it.each([json, 'text/plain', form, 'application/octet-stream'])(
    '%s of 1 MiB is read, and one more byte is 413',
    async (type) => {
      const largest = ofLength(mebi)
      expect((await post(type, largest)).status).toBe(200)
      expectError(await post(type, `${largest} `), 413, /^The body is larger than 1048576 bytes\.$/)
    },
  )

  it('a route can have a lower or higher limit', async () => {
    expect((await post(json, ofLength(16), '/small')).status).toBe(200)
    expectError(await post(json, ofLength(17), '/small'), 413, /larger than 16 bytes/)
    expect((await post('text/plain', ofLength(2 * mebi), '/large')).json()).toEqual({
      length: 2 * mebi,
    })
    expectError(await post('text/plain', ofLength(2 * mebi + 1), '/large'), 413, /larger than/)
  })

  it('an application can have its own limits', async () => {
    await using strict = await startBodies({ listen: false, limits: { body: '1kb', url: 100 } })
    const send = (text: string, url = '/any') => strict.inject({ method: 'POST', url, text })
    expect((await send('a'.repeat(1024))).status).toBe(200)
    expectError(await send('a'.repeat(1025)), 413, /larger than 1024 bytes/)
    expect((await send('a'.repeat(1025), '/large')).status).toBe(200)
    expectError(await strict.inject(`/any?q=${'a'.repeat(100)}`), 414, /longer than 100 bytes/)
  })

  it('a limit that is not a size is refused at bootstrap', async () => {
    await expect(startBodies({ listen: false, limits: { body: '1 parsec' } })).rejects.toThrow(
      /limits: body is "1 parsec"\. +Use bytes, or a size such as '10mb'\./,
    )
  })

  const head = `POST /any HTTP/1.1\r\nHost: x\r\nContent-Type: ${json}\r\n`
  const megabyte = 'a'.repeat(mebi)
  const chunk = `100000\r\n${megabyte}\r\n`
  it.each([
    ['announced and sent', `${head}Content-Length: ${3 * mebi}\r\n\r\n${megabyte.repeat(3)}`],
    ['announced and never sent', `${head}Content-Length: ${2 ** 40}\r\n\r\n`],
    ['in chunks', `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`],
    ['in chunks without end', `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`],
    ['in one chunk', `${head}Transfer-Encoding: chunked\r\n\r\n40000000\r\n${megabyte.repeat(3)}`],
  ])('the client can read the 413 for a large body, %s', async (_, text) => {
    const answer = await exchange(app.url, text)
    expect(statusOf(answer)).toBe(413)
    expect(JSON.parse(bodyOf(answer))).toEqual({
      error: 'The body is larger than 1048576 bytes.',
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(answer).toMatch(/\r\nConnection: close\r\n/)
    expect(answer).toMatch(/\r\nAccess-Control-Allow-Origin: \*\r\n/)
  })

  it('a body that no handler reads has no limit', async () => {
    const answer = await exchange(
      app.url,
      `POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * mebi}\r\nConnection: close\r\n\r\n${megabyte.repeat(2)}`,
    )
    expect([statusOf(answer), bodyOf(answer)]).toEqual([200, '{"unread":true}'])
  })
})
