/**
 * Measures the processor time of the server for agents: a call of a tool compared with the same POST route by HTTP, and a list of 200 tools.
 * `node mcp.mjs [requests]` in `bench/`, after `npm run build`. This process sends requests one after the other over one
 * connection to the server, another process. Each number is the best of five alternating rounds.
 */
import http from 'node:http'
import { fork } from 'node:child_process'

const [, , size = '20000'] = process.argv
const requests = Number(size)

if (process.send !== undefined) await serve()
else await compare()

async function serve() {
  const { bootstrap, Controller, Field, Get, Module, NoAuth, Post } =
    await import('../dist/server/index.js')
  const { mcp, Tool } = await import('../dist/server/mcp.js')
  class Body {}
  Field('string')(Body.prototype, 'title')
  Field('integer')(Body.prototype, 'count')
  class Orders {
    add(body) {
      return { id: 7, title: body.title, count: body.count }
    }
  }
  Post('/', { body: Body, args: ['body'] })(Orders.prototype, 'add', descriptor(Orders, 'add'))
  Tool({ name: 'add' })(Orders.prototype, 'add', descriptor(Orders, 'add'))
  NoAuth(Orders)
  Controller('/orders')(Orders)
  class Many {}
  for (let index = 0; index < 200; index++) {
    const member = `tool${index}`
    Many.prototype[member] = () => ({ index })
    Get(`/${member}/<id:int>`, { args: ['id'] })(Many.prototype, member, descriptor(Many, member))
  }
  Tool({})(Many)
  Controller('/many')(Many)
  class Few {}
  Module({ controllers: [Orders], imports: [mcp()] })(Few)
  class All {}
  Module({ controllers: [Orders, Many], imports: [mcp()] })(All)
  const apps = [
    await bootstrap(Few, { port: 0, logger: false, auth: { keys: false } }),
    await bootstrap(All, { port: 0, logger: false, auth: { keys: false } }),
  ]
  process.on('message', () => process.send({ cpu: process.cpuUsage() }))
  process.send({ urls: apps.map(({ url }) => url) })
}

function descriptor(type, member) {
  return Object.getOwnPropertyDescriptor(type.prototype, member)
}

async function compare() {
  const child = fork(new URL(import.meta.url), [], {
    env: { ...process.env, NODE_ENV: 'production', PUBLIC_URL: 'http://localhost' },
  })
  const { urls } = await next(child)
  const [few, all] = urls
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const message = (method, params) => ({
    path: '/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params.name && { 'mcp-name': params.name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
  })
  const given = { title: 'a title', count: 3 }
  const rows = [
    ['POST /orders', few, { path: '/orders', headers: {}, body: given }],
    ['a call of its tool', few, message('tools/call', { name: 'add', arguments: given })],
    ['a list of 201 tools', all, message('tools/list', {})],
  ]
  const costs = rows.map(() => Infinity)
  for (let round = 0; round < 5; round++) {
    for (const [index, [, url, asked]] of rows.entries())
      costs[index] = Math.min(costs[index], await cost(child, url, asked))
  }
  for (const [index, [name]] of rows.entries())
    console.log(`${name}: ${costs[index].toFixed(1)} µs, ${(costs[index] / costs[0]).toFixed(2)} ×`)
  child.kill()
}

/** Microseconds of the server's processor for one request. */
async function cost(child, url, asked) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const count = asked.body.method === 'tools/list' ? requests / 10 : requests
  await send(agent, url, asked, count / 5)
  const before = await cpuOf(child)
  await send(agent, url, asked, count)
  const after = await cpuOf(child)
  agent.destroy()
  return (after - before) / count
}

async function send(agent, url, { path, headers, body }, count) {
  const text = JSON.stringify(body)
  const all = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  }
  for (let index = 0; index < count; index++) {
    await new Promise((resolve, reject) => {
      const request = http.request(
        url + path,
        { method: 'POST', agent, headers: all },
        (answer) => {
          if (answer.statusCode !== 200) reject(new Error(`${answer.statusCode}`))
          answer.resume().on('end', resolve)
        },
      )
      request.on('error', reject)
      request.end(text)
    })
  }
}

async function cpuOf(child) {
  child.send('cpu')
  const { cpu } = await next(child)
  return cpu.user + cpu.system
}

function next(child) {
  return new Promise((resolve) => {
    child.once('message', resolve)
  })
}
