/** Bodies that come in chunks. Their borders have no meaning, so the server merges them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
} from '../../src/index.js'

@Controller('/echo')
@NoAuth
class EchoController {
  @Post('/')
  echo(body: unknown): unknown {
    return Buffer.isBuffer(body) ? { bytes: body.length } : { body }
  }

  @Get('/')
  read(): object {
    return { read: true }
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(EchoModule, {
    ...{ logger: false, env: {}, port: 0, host: '127.0.0.1' },
    times: { linger: 20 },
  })
})
afterAll(() => app.close())

/** Sends the parts, and reads until the server closes the connection. */
async function exchange(parts: readonly string[]): Promise<string> {
  const socket = connectTcp(Number(new URL(app.url).port), '127.0.0.1').setNoDelay(true)
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  for (const part of parts) await new Promise((resolve) => socket.write(part, 'latin1', resolve))
  await closed
  return text
}

const head = (type: string, more = ''): string =>
  `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n${more}\r\n`
const last = 'GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
const inBytes = (text: string): string =>
  Array.from(text, (byte) => `1\r\n${byte}\r\n`).join('') + '0\r\n\r\n'

describe('a body in chunks of one byte', () => {
  const body = JSON.stringify({ name: 'a'.repeat(5000) })

  it('arrives complete, in few chunks', async () => {
    let chunks = 0
    const count = (message: unknown): void => {
      const { request } = message as { request: IncomingMessage }
      if (request.method === 'POST') request.on('data', () => chunks++)
    }
    subscribe('http.server.request.start', count)
    const text = await exchange([head('application/json'), inBytes(body) + last])
    unsubscribe('http.server.request.start', count)
    expect(text).toContain(`{"body":${body}}`)
    expect(text).toContain('{"read":true}')
    expect(chunks).toBeGreaterThan(0)
    expect(chunks).toBeLessThan(50)
  })

  it('is a form with a field', async () => {
    const form = `--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n${'a'.repeat(3000)}\r\n--b--\r\n`
    const text = await exchange([head('multipart/form-data; boundary=b') + inBytes(form) + last])
    expect(text).toContain(`{"body":{"name":"${'a'.repeat(3000)}"}}`)
  })

  it('has the limit of a body', async () => {
    const long = inBytes('a'.repeat(1024 * 1024 + 1))
    expect(await exchange([head('image/png') + long])).toMatch(/^HTTP\/1.1 413 /)
  })
})

describe('chunks', () => {
  const json = head('application/json')

  it('may be split anywhere', async () => {
    const request = `${json}5;a="b"\r\n{"a":\r\n00A\r\n"0123456"}\r\n0\r\nTrailer: 1\r\n\r\n`
    const text = await exchange([...Array.from(request, (byte) => byte), last])
    expect(text).toContain('{"body":{"a":"0123456"}}')
    expect(text).toContain('{"read":true}')
  })

  it('are read after 100 Continue', async () => {
    const text = await exchange([
      head('text/plain', 'Expect: 100-continue\r\n'),
      inBytes('abc'),
      last,
    ])
    expect(text).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /)
    expect(text).toContain('{"body":"abc"}')
  })

  it('are read for each of several pipelined requests', async () => {
    const text = await exchange([`${json}${inBytes('1')}${json}${inBytes('2')}${last}`])
    expect(text.match(/\{"(?:body|read)":\w+\}/g)).toEqual([
      '{"body":1}',
      '{"body":2}',
      '{"read":true}',
    ])
  })

  it.each([
    ['without a size', '\r\n1\r\n', 400],
    ['of a size that is no number', 'x\r\n1\r\n', 400],
    ['of a size that is not safe', `${'f'.repeat(14)}\r\n1`, 400],
    ['with a line feed alone', '1\n1\n0\n\n', 400],
    ['without a line end before the data', '1\r1', 400],
    ['without a line end behind the data', '1\r\n11\r\n0\r\n\r\n', 400],
    ['with a line feed in an extension', '1;a\n\r\n1\r\n0\r\n\r\n', 400],
    ['with 16 KiB of extensions', `1;${'a'.repeat(17_000)}\r\n1\r\n0\r\n\r\n`, 413],
    [
      'with 16 KiB of extensions together',
      `${`1;${'a'.repeat(1000)}\r\n1\r\n`.repeat(17)}0\r\n\r\n`,
      413,
    ],
  ])('%s are refused', async (_, chunks, status) => {
    const text = await exchange([json + chunks])
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(text).toContain('{"error":')
  })
})
