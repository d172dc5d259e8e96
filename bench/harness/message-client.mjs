/**
 * Sends one GraphQL operation again and again over WebSockets, each connection once it has its answer, and reports as
 * wrk's script does. Argument: `{ url, query, variables, data, seconds, connections }` as JSON.
 *
 * It writes and reads the frames itself: a library would need as much processor time as the servers. Sources: RFC 6455;
 * GraphQL over WebSocket Protocol (graphql-transport-ws).
 */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { isDeepStrictEqual } from 'node:util'

const { url, query, variables, data, seconds, connections } = JSON.parse(process.argv[2])
const { hostname, port, host } = new URL(url)

const handshake = `GET /graphql HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`

/** A masked text frame with a length of 16 bits. */
function toFrame(message) {
  const text = Buffer.from(JSON.stringify(message))
  const mask = randomBytes(4)
  const frame = Buffer.alloc(8 + text.length)
  frame.writeUInt16BE(0x81fe)
  frame.writeUInt16BE(text.length, 2)
  mask.copy(frame, 4)
  for (let at = 0; at < text.length; at++) frame[8 + at] = text[at] ^ mask[at & 3]
  return frame
}
const init = toFrame({ type: 'connection_init' })
const subscribe = toFrame({ id: '1', type: 'subscribe', payload: { query, variables } })

/** The texts of the complete frames in `bytes`, and the rest. */
function readFrames(bytes) {
  const texts = []
  let at = 0
  while (bytes.length >= at + 2) {
    const isLong = (bytes[at + 1] & 127) === 126
    if (isLong && bytes.length < at + 4) break
    const length = isLong ? bytes.readUInt16BE(at + 2) : bytes[at + 1] & 127
    const start = at + (isLong ? 4 : 2)
    if (bytes.length < start + length) break
    // Pings and pongs have no text for us.
    if ((bytes[at] & 15) === 1) texts.push(bytes.latin1Slice(start, start + length))
    else if ((bytes[at] & 15) === 8) throw new Error(`closed: ${bytes.subarray(start)}`)
    at = start + length
  }
  return [texts, bytes.subarray(at)]
}

const counted = { requests: 0, waits: [] }
/** The text of the answers, once its data was compared: all have the same id. */
let expected
const isNext = /"type":"next"/
const isComplete = /"type":"complete"/

/** Resolves at the end of the connection's last operation. */
const run = (until) =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let rest = Buffer.alloc(0)
    let isOpen = false
    let asked
    let isAnswered
    const ask = () => {
      asked = performance.now()
      isAnswered = false
      socket.write(subscribe)
    }
    const take = (text) => {
      if (text.includes('"connection_ack"')) return ask()
      if (isNext.test(text)) {
        if (expected === undefined && isDeepStrictEqual(JSON.parse(text).payload, { data }))
          expected = text
        if (text !== expected) throw new Error(`answered ${text}`)
        isAnswered = true
      } else if (isComplete.test(text)) {
        if (!isAnswered) throw new Error('complete without an answer')
        const now = performance.now()
        counted.requests++
        counted.waits.push(now - asked)
        if (now >= until) {
          socket.destroy()
          resolve()
        } else ask()
      } else throw new Error(`unexpected message: ${text}`)
    }
    socket.setNoDelay()
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed the connection')))
    socket.on('data', (chunk) => {
      try {
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        if (!isOpen) {
          const end = rest.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!rest.toString('latin1').startsWith('HTTP/1.1 101'))
            throw new Error(`no handshake: ${rest}`)
          isOpen = true
          rest = rest.subarray(end + 4)
          socket.write(init)
        }
        const [texts, left] = readFrames(rest)
        rest = left
        for (const text of texts) take(text)
      } catch (error) {
        reject(error)
        socket.destroy()
      }
    })
    socket.write(handshake)
  })

const start = performance.now()
const until = start + seconds * 1000
await Promise.all(Array.from({ length: connections }, () => run(until)))
const microseconds = Math.round((performance.now() - start) * 1000)
counted.waits.sort((one, other) => one - other)
const wait = (share) => Math.round(counted.waits[Math.floor(counted.waits.length * share)] * 1000)
const report = {
  requests: counted.requests,
  microseconds,
  errors: 0,
  refused: 0,
  p50: wait(0.5),
  p99: wait(0.99),
}
process.stdout.write(`\nREPORT ${JSON.stringify(report)}\n`)
