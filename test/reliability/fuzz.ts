/**
 * Sends malformed and unusual requests of every kind for some time: heads, bodies, multipart, tokens, GraphQL documents and
 * `crud` queries. A finding is a 5xx response, no response within 5 s, or a response with a stack or SQL.
 * `npm run fuzz -- --seconds 60 --seed 7`
 */
import { connect } from 'node:net'
import { createRandom } from '../random.js'
import { numberOf, say } from './command-line.js'
import { apiKey, start } from './shop-application.js'

const seed = numberOf('seed', Date.now() % 1_000_000)
const until = performance.now() + 1000 * numberOf('seconds', 60)
const random = createRandom(seed)
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
const times = (max: number, make: () => string): string =>
  Array.from({ length: Math.floor(random() * (max + 1)) }, make).join('')

const oddTexts = [
  '',
  ' ',
  '\u0000',
  '%00',
  '%',
  '%zz',
  '%ff',
  '..',
  '/',
  '\\',
  '"',
  "'",
  ';',
  '--',
  '\ud800',
  '😀',
  '\u202e',
  '{{',
  '${1}',
  '__proto__',
  'constructor',
  'null',
  'true',
  '-0',
  '1e999',
  '9'.repeat(40),
  'a'.repeat(300),
  '<script>',
  '\r\n',
  '\t',
  'NaN',
  '[]',
  '{}',
]
const text = (): string => times(3, () => pick(oddTexts)) + pick(oddTexts)
const json = (depth = 3): string => {
  if (depth === 0 || random() < 0.3)
    return pick([
      '1',
      '-1',
      '1.5',
      '1e400',
      'null',
      'true',
      '"x"',
      JSON.stringify(text()),
      '"\\ud800"',
      '"\\u0000"',
      '',
    ])
  if (random() < 0.5)
    return `[${times(4, () => `${json(depth - 1)},`)}${json(depth - 1)}${pick([']', '', ',]'])}`
  const key = (): string =>
    JSON.stringify(
      pick(['name', 'count', 'id', '__proto__', 'constructor', 'query', 'variables', text()]),
    )
  return `{${times(4, () => `${key()}:${json(depth - 1)},`)}${key()}:${json(depth - 1)}${pick(['}', '}', '}', ''])}`
}

interface Sent {
  readonly sort: string
  readonly bytes: Buffer
}

function request(
  sort: string,
  line: string,
  headers: readonly string[],
  body: string | Buffer = '',
): Sent {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const length = bytes.length > 0 && random() < 0.95 ? [`Content-Length: ${bytes.length}`] : []
  const head = [line, 'Host: x', 'Connection: close', ...headers, ...length].join('\r\n')
  return { sort, bytes: Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), bytes]) }
}

const makers: readonly (() => Sent)[] = [
  () => {
    const path = `/${times(4, () => pick(['things', 'fast', '1', '/', '%2f', '?', '&', '=', ...oddTexts]))}`
    const header = (): string =>
      `${pick(['X-A', 'Host', 'Cookie', 'Range', 'Accept', 'Expect', 'Origin', 'If-Match', 'If-None-Match', 'Transfer-Encoding', 'Content-Length', 'Upgrade'])}${pick([':', ': ', ' :', ''])}${text()}`
    return request(
      'heads',
      `${pick(['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'DELETE', 'PATCH', 'TRACE', 'BREW', ''])} ${path} ${pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', ''])}`,
      Array.from({ length: Math.floor(random() * 4) }, header),
    )
  },
  () =>
    request(
      'bodies',
      `${pick(['POST', 'PATCH', 'PUT'])} ${pick(['/things', '/things/1', '/echo', '/pairs'])} HTTP/1.1`,
      [
        `Content-Type: ${pick(['application/json', 'application/json; charset=utf-8', 'application/x-www-form-urlencoded', 'text/plain', 'application/json;;', 'a/b', text()])}`,
        ...(random() < 0.1 ? ['Content-Encoding: gzip'] : []),
      ],
      random() < 0.7 ? json() : `name=${text()}&count=${text()}`,
    ),
  () => {
    const part = (): string =>
      `--b\r\nContent-Disposition: form-data; name="${text()}"${pick(['', `; filename="${text()}"`])}\r\n${pick(['', 'Content-Type: text/plain\r\n', 'Content-Transfer-Encoding: base64\r\n', `${text()}\r\n`])}\r\n${text()}\r\n`
    return request(
      'multipart',
      'POST /echo HTTP/1.1',
      [
        `Content-Type: multipart/form-data; boundary=${pick(['b', 'b', 'b', '', '""', 'c', text()])}`,
      ],
      times(5, part) + pick(['--b--\r\n', '--b', '']),
    )
  },
  () => {
    const piece = (): string =>
      pick([
        'eyJhbGciOiJSUzI1NiJ9',
        'eyJhbGciOiJub25lIn0',
        'e30',
        '',
        '=',
        Buffer.from(json()).toString('base64url'),
      ])
    const token = pick([
      apiKey,
      `${piece()}.${piece()}.${piece()}`,
      `${piece()}.${piece()}`,
      text(),
      `${piece()}.${piece()}.${piece()}.${piece()}`,
    ])
    return request('tokens', 'POST /secret HTTP/1.1', [
      `Authorization: ${pick(['Bearer ', 'bearer  ', 'Basic ', ''])}${token}`,
    ])
  },
  () => {
    const field = (depth: number): string =>
      depth === 0
        ? pick(['id', 'name', 'count', '__typename', 'nope'])
        : `${pick(['things', 'thing', 'thingsPage', 'a: things', '...f', '__schema'])}${pick(['', '(id: 1)', '(limit: 5)', '(limit: -1)', `(where: { name: { ilike: ${JSON.stringify(text())} } })`, '(orderBy: [{ name: asc }])', '(offset: 1e9)'])} { ${times(3, () => `${field(depth - 1)} `)}id ${pick(['}', '}', '}', ''])}`
    const query = `${pick(['', 'query ', 'mutation ', 'subscription ', 'query($a: Int)', 'fragment f on Thing '])}{ ${field(3)} ${pick(['}', '}', ''])}`
    const body = JSON.stringify({
      query: random() < 0.9 ? query : text(),
      variables: pick([undefined, {}, [], { a: text() }, null]),
    })
    return request(
      'graphql',
      'POST /graphql HTTP/1.1',
      [
        'Content-Type: application/json',
        `Accept: ${pick(['application/json', '*/*', 'text/event-stream', text()])}`,
      ],
      body,
    )
  },
  () => {
    const operator = pick(['', '.gt', '.like', '.ilike', '.in', '.isNull', '.nope', '.', '..'])
    const pair = (): string =>
      `${pick(['limit', 'offset', 'orderBy', 'name', 'count', 'id', 'with', 'fields', 'after', 'count', text()])}${operator}=${encodeURIComponent(text().replace(/\p{Surrogate}/gu, ''))}&`
    return request('crud', `GET /things?${times(5, pair)} HTTP/1.1`, [])
  },
]

const app = await start('sqlite::memory:', { times: { headers: 2000, request: 2000 } })
const { hostname, port } = new URL(app.url)
const counts: Record<string, number> = {}
const statuses: Record<string, number> = {}
let findings = 0

function send({ bytes }: Sent): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let answer = ''
    const give = (end: string): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer === '' ? end : answer)
    }
    const timer = setTimeout(() => {
      give('no response')
    }, 5000)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (answer += chunk))
    socket.on('end', () => {
      give('closed')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      give(error.code ?? 'error')
    })
    socket.end(bytes)
  })
}

function isFinding(answer: string): boolean {
  if (answer === 'no response') return true
  return /^HTTP\/1\.1 5\d\d/.test(answer) || /\n {4}at |SQLITE_|select .* from /i.test(answer)
}

async function worker(): Promise<void> {
  while (performance.now() < until) {
    const sent = pick(makers)()
    const answer = await send(sent)
    counts[sent.sort] = (counts[sent.sort] ?? 0) + 1
    const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? answer.slice(0, 20)
    statuses[status] = (statuses[status] ?? 0) + 1
    if (!isFinding(answer)) continue
    findings++
    say({ finding: answer.slice(0, 300), sort: sent.sort, request: sent.bytes.toString('latin1') })
  }
}

await Promise.all(Array.from({ length: 8 }, worker))
const alive = (await fetch(`${app.url}/fast`)).status
say({
  seed,
  counts,
  statuses,
  findings,
  alive,
  memory: Math.round(process.memoryUsage.rss() / 2 ** 20),
})
await app.close()
process.exit(findings === 0 && alive === 200 ? 0 : 1)
