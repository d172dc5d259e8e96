/** Requests that ask for another protocol. Only handshakes of WebSockets, at a path with sockets, change the protocol. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { Auth, bootstrap, GraphQL, Module, type Application } from 'filigree'
import { waitUntil } from '../wait-until.js'

let release: () => void = () => undefined
/** How often the slow mutation has started. */
let slowOnes = 0

function start(options: object = {}): Promise<Application> {
  const graphql = new GraphQL({ sockets: true })
  graphql.schema.addQuery('now', { type: 'Int', resolve: () => 1 }).addMutation('slow', {
    type: 'Int',
    resolve: () =>
      new Promise((resolve) => {
        slowOnes++
        release = () => {
          resolve(2)
        }
      }),
  })
  graphql.registerRoute()
  @Module({ graphql: [graphql] })
  class SocketsModule {}
  const base = { logger: false, env: {}, port: 0, host: '127.0.0.1' } as const
  return bootstrap(SocketsModule, { ...base, ...options })
}

let app: Application
beforeAll(async () => {
  app = await start()
})
afterAll(() => app.close())

describe('upgrade requests for another protocol', () => {
  /**
   * Sends bytes, each part once the server has read the previous ones, and reads until the server closes or the text
   * contains what is expected.
   */
  async function exchange(parts: readonly string[], until: string): Promise<string> {
    const port = Number(new URL(app.url).port)
    let serverSocket: Socket | undefined
    const onSocket = (message: unknown): void => {
      const { socket: accepted } = message as { socket: Socket }
      if (accepted.localPort === port) serverSocket = accepted
    }
    subscribe('net.server.socket', onSocket)
    const socket = connectTcp(port, '127.0.0.1')
    let text = ''
    let written = 0
    for (const part of parts) {
      await waitUntil(() => written === 0 || Number(serverSocket?.bytesRead) >= written)
      socket.write(part)
      written += part.length
    }
    unsubscribe('net.server.socket', onSocket)
    for await (const chunk of socket) {
      text += String(chunk)
      if (text.includes(until)) break
    }
    socket.destroy()
    return text
  }

  const body = JSON.stringify({ query: '{ now }' })
  const head = [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '\r\n',
  ].join('\r\n')

  it('are answered as ordinary requests, with their body', async () => {
    expect(await exchange([head + body], '{"data"')).toContain('{"data":{"now":1}}')
    expect(await exchange([head, body.slice(0, 5), body.slice(5)], '{"data"')).toContain(
      '{"data":{"now":1}}',
    )
  })

  it('keep their connection for the next request', async () => {
    const next = `GET /graphql?query=%7Bnow%7D HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
    const text = await exchange([head + body + next], 'nothing of this kind')
    expect(text.match(/\{"data":\{"now":1\}\}/g)).toHaveLength(2)
  })

  it('count as requests of their connection', async () => {
    const other = await start({ limits: { requests: 3 } })
    // Sequentially, each after the response to the previous one.
    const socket = connectTcp(Number(new URL(other.url).port), '127.0.0.1')
    let text = ''
    for (const responses of [1, 2, 3]) {
      socket.write(head + body)
      while (text.split('"data"').length <= responses) text += String(await once(socket, 'data'))
    }
    await once(socket, 'close')
    await other.close()
    expect(text.match(/\{"data":\{"now":1\}\}/g)).toHaveLength(3)
    expect(text.match(/Connection: close/g)).toHaveLength(1)
  })

  it('are refused with so many headers that the length of the body may be lost', async () => {
    const hidden = 'GET /graphql?query=%7Bnow%7D HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const many = [
      'POST /graphql HTTP/1.1',
      'Host: localhost',
      'Connection: Upgrade',
      ...Array.from({ length: 60 }, () => 'Upgrade: h2c'),
      ...Array.from({ length: 1960 }, () => 'a:'),
      `Content-Length: ${hidden.length}`,
      '\r\n',
    ].join('\r\n')
    const text = await exchange([many + hidden], 'nothing of this kind')
    expect(text).toMatch(/^HTTP\/1\.1 431 /)
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  it('wait for the response to the previous request', async () => {
    const slow = JSON.stringify({ query: 'mutation { slow }' })
    const token = await app.get(Auth).getToken({ sub: '9' })
    const first = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${slow.length}\r\n\r\n${slow}`
    const handshake = `GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`
    const before = slowOnes
    const exchanged = exchange([first, handshake], '101')
    await waitUntil(() => slowOnes > before)
    release()
    expect(await exchanged).toMatch(/^HTTP\/1\.1 200 [^]*\{"data":\{"slow":\d+\}\}HTTP\/1\.1 101 /)
  })

  it('from other origins do no harm when they are aborted', async () => {
    const handshake = `GET /graphql HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
    const port = Number(new URL(app.url).port)
    for (let count = 0; count < 20; count++) {
      const socket = connectTcp(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(handshake)
      // At different times: before the server has read the handshake, while it responds, and after that.
      for (let turn = 0; turn < count % 5; turn++)
        await new Promise((resolve) => setImmediate(resolve))
      socket.resetAndDestroy()
    }
    expect((await app.inject('/graphql?query=%7Bnow%7D')).status).toBe(200)
  })

  it('are answered by the routes where no endpoint has this path', async () => {
    const missing = new WebSocket(`${app.url.replace('http', 'ws')}/nowhere`)
    const [error] = (await once(missing, 'error')) as [Error]
    expect(error.message).toContain('404')
  })
})
