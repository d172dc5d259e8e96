/**
 * What metrics and the access log cost: processor time of the server for a typed GET with and without them, in
 * alternating rounds, so that what else the machine does hits all of them alike. `node bench/observed.mjs --rounds 9`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { median } from './harness/figures.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    requests: { type: 'string', default: '8000' },
  },
})
const rounds = Number(values.rounds)
const requests = Number(values.requests)
const targets = { metrics: 8, log: 20 }

const source = fileURLToPath(new URL('servers/observed.ts', import.meta.url))
const program = fileURLToPath(new URL('dist/observed/server.mjs', import.meta.url))
await build({
  entryPoints: [source],
  outfile: program,
  format: 'esm',
  tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
})

async function start(part) {
  // Lines go where they cost what writing costs.
  const out = openSync('/dev/null', 'w')
  const child = fork(program, [], {
    env: { ...process.env, PART: part, LOG_LEVEL: 'info' },
    stdio: ['ignore', out, 'inherit', 'ipc'],
  })
  const [{ url }] = await once(child, 'message')
  return { part, child, url: new URL(url), times: [] }
}

async function usageOf({ child }) {
  child.send('usage')
  const [{ usage }] = await once(child, 'message')
  return usage.user + usage.system
}

/** Asks one request after another on eight connections. */
async function ask({ url }, count) {
  const text = `GET /items/7 HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`
  await Promise.all(
    Array.from(
      { length: 8 },
      () =>
        new Promise((resolve, reject) => {
          let left = count / 8
          const socket = connect(Number(url.port), url.hostname, () => socket.write(text))
          socket.on('error', reject)
          socket.on('data', () => {
            if (--left > 0) socket.write(text)
            else socket.end(resolve)
          })
        }),
    ),
  )
}

const servers = []
const pinos = ['log by a pino of its own', 'log by a pino that gathers']
for (const part of ['', 'metrics', 'log', ...pinos]) servers.push(await start(part))
for (const server of servers) await ask(server, 16_000)
for (let round = 0; round < rounds; round++) {
  for (const server of servers) {
    const before = await usageOf(server)
    await ask(server, requests)
    server.times.push(((await usageOf(server)) - before) / requests)
  }
}
const [plain, ...observed] = servers
console.log(`typed GET: ${median(plain.times).toFixed(1)} µs of processor time a request`)
for (const { part, times } of observed) {
  // Of one round: what else the machine did hit both.
  const more = (median(times.map((time, round) => time / plain.times[round])) - 1) * 100
  const most = targets[part]
  const verdict =
    most === undefined ? '' : `; at most ${most} %: ${more <= most ? 'met' : 'missed'}`
  console.log(`with ${part}: ${median(times).toFixed(1)} µs, ${more.toFixed(1)} % more${verdict}`)
}
for (const { child } of servers) child.kill()
