/**
 * What others wait for beside readers who stop: `npm run build && node bench/slow-readers.mjs [--readers 300] [--door rows]`.
 *
 * `rows` is a list, `object` has it in one object, `text` is its text.
 *
 * Prints, as JSON, the median and 99 % of a small GET (ms) without and with readers of 5 MB who take nothing,
 * how many of these answers were begun, and the peak of the process.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'

const server = async () => {
  const { bootstrap, Controller, Get, Module, NoAuth } = await import('../dist/server/index.js')
  class Rows {
    list() {
      return Array.from({ length: 50_000 }, (_, id) => ({
        id,
        title: `The printer ${id} is on fire`,
        status: 'open',
        priority: 'high',
        text: 'x'.repeat(20),
      }))
    }
    object() {
      return { rows: this.list() }
    }
    text() {
      return JSON.stringify(this.list())
    }
    small() {
      return { ok: true }
    }
  }
  const decorate = (name, path) =>
    Get(path)(Rows.prototype, name, Object.getOwnPropertyDescriptor(Rows.prototype, name))
  decorate('list', '/rows')
  decorate('object', '/object')
  decorate('text', '/text')
  decorate('small', '/small')
  NoAuth(Rows)
  Controller('/')(Rows)
  class Application {}
  Module({ controllers: [Rows] })(Application)
  const app = await bootstrap(Application, { port: 0, host: '127.0.0.1', logger: false, env: {} })
  process.send({ url: app.url })
  process.on('message', () => process.send({ peak: process.resourceUsage().maxRSS / 1024 }))
}

const measure = async () => {
  const { values } = parseArgs({
    options: {
      readers: { type: 'string', default: '300' },
      door: { type: 'string', default: 'rows' },
    },
  })
  const child = fork(fileURLToPath(import.meta.url), ['server'])
  const [{ url }] = await once(child, 'message')
  const agent = new Agent({ keepAlive: true })
  const ask = async (begun = performance.now()) => {
    try {
      const [answer] = await once(get(`${url}/small`, { agent }), 'response')
      answer.resume()
      await once(answer, 'end')
      return performance.now() - begun
    } catch {
      // A kept connection whose time had run out before the process looked at it.
      return ask(begun)
    }
  }
  const many = async (until) => {
    const times = []
    while (!until(times)) {
      times.push(await ask())
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return times.sort((one, other) => one - other)
  }
  await many((times) => times.length >= 300)
  const alone = await many((times) => times.length >= 500)
  let begun = 0
  const { port } = new URL(url)
  const sockets = Array.from({ length: Number(values.readers) }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.once('data', () => {
      begun++
      socket.pause()
    })
    socket.write(`GET /${values.door} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  })
  const start = performance.now()
  const beside = await many(() => begun === sockets.length || performance.now() - start > 60_000)
  const took = performance.now() - start
  child.send('peak')
  const [{ peak }] = await once(child, 'message')
  const told = (times) => ({
    count: times.length,
    p50: Number(times[Math.floor(times.length / 2)]?.toFixed(2)),
    p99: Number(times[Math.floor(times.length * 0.99)]?.toFixed(2)),
  })
  const readers = { begun, ms: Math.round(took) }
  console.log(JSON.stringify({ alone: told(alone), beside: told(beside), readers, peak }))
  for (const socket of sockets) socket.destroy()
  agent.destroy()
  child.kill()
}

await (process.argv[2] === 'server' ? server() : measure())
