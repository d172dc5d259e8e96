import { describe, expect, it } from '@jest/globals'
import { FakeResponse } from '../../src/http/in-memory/fake-response.js'

const piece = 'x'.repeat(64 * 1024)
const json = ['Content-Type', 'application/json']

async function drained(outgoing: FakeResponse): Promise<void> {
  await new Promise<void>((resolve) => outgoing.once('drain', resolve))
}

describe('the body of a response without a socket', () => {
  it('makes the writer wait until it is read', async () => {
    const outgoing = new FakeResponse()
    outgoing.writeHead(200, json)
    expect(outgoing.write('a')).toBe(true)
    expect(outgoing.write(piece)).toBe(false)
    const waiting = drained(outgoing)
    const reading = outgoing.body.toArray()
    await waiting
    outgoing.end('b')
    expect(Buffer.concat((await reading) as Buffer[]).toString()).toBe(`a${piece}b`)
  })

  it('is finished once the reader has room for the rest', async () => {
    const outgoing = new FakeResponse()
    outgoing.writeHead(200, json).end(piece)
    expect(outgoing.writableFinished).toBe(false)
    outgoing.body.resume()
    await new Promise((resolve) => outgoing.once('close', resolve))
    expect(outgoing.writableFinished).toBe(true)
  })

  it('fails if the response is cut off, and cuts it off if the reader leaves', async () => {
    const cut = new FakeResponse()
    cut.writeHead(200, json).write('a')
    cut.destroy()
    await expect(cut.body.toArray()).rejects.toThrow('The response was cut off.')
    const left = new FakeResponse()
    left.writeHead(200, json).write('a')
    left.body.destroy()
    expect([left.destroyed, left.writableFinished]).toEqual([true, false])
    expect(left.write('b')).toBe(false)
  })
})

describe('a collected response', () => {
  it('is there immediately if it is complete', () => {
    const outgoing = new FakeResponse(100)
    outgoing.writeHead(201, json).end('{}')
    expect(outgoing.collected()).toMatchObject({ status: 201, body: '{}' })
  })

  it('is waited for, whatever its size', async () => {
    const outgoing = new FakeResponse()
    outgoing.writeHead(200, json).write(piece)
    const collected = outgoing.collected()
    outgoing.write(Buffer.from(piece))
    outgoing.end('!')
    expect(String((await collected).body)).toBe(`${piece}${piece}!`)
  })

  it('is refused if it is too large, a stream of events or cut off', async () => {
    const large = new FakeResponse(2)
    large.writeHead(200, json).end('abc')
    expect(() => large.collected()).toThrow('The response is larger than 2 bytes.')
    const endless = new FakeResponse(2)
    endless.writeHead(200, ['Content-Type', 'text/event-stream'])
    expect(() => endless.collected()).toThrow('The response is a stream of events')
    const left = new FakeResponse(2)
    const waiting = left.collected()
    left.destroy()
    await expect(waiting).rejects.toThrow('closed before there was a response')
  })
})
