/**
 * Sends requests through prism, which validates requests and responses against the OpenAPI document. A valid request and its response
 * have no violations, and the response to an invalid request has none. Excluded is what prism cannot check: redirects, which it
 * follows, 204 of a route without declared responses, unknown parameters of a query,
 * and responses that `?fields=` reduces.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Application } from '../../src/index.js'
import { freePort } from '../free-port.js'
import { logIn, startAtlas } from '../samples/small-world.js'
import { installTool } from './install.js'
import { startRich } from './rich-application.js'

/** A request with its expected status. */
export interface PrismRequest {
  readonly status: number
  readonly method?: string
  readonly path: string
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
  /** Whether the request is invalid by the document. */
  readonly isBad?: boolean
}

interface Violation {
  readonly location: readonly string[]
  readonly severity: string
  readonly message: string
}

export async function prism(): Promise<string> {
  const { folder, version } = installTool('prism', ['@stoplight/prism-cli@5.14.2'])
  const program = join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js')
  const place = mkdtempSync(join(tmpdir(), 'filigree-prism-'))
  const violations: string[] = []
  let count = 0
  try {
    const rich = await startRich()
    count += await through(program, place, rich.app, rich.requests, violations)
    const atlas = await startAtlas({
      url: 'sqlite::memory:',
      folder: place,
      options: { listen: true, port: 0, host: '127.0.0.1' },
    })
    count += await through(program, place, atlas, atlasRequests(await logIn(atlas)), violations)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
  if (violations.length > 0)
    throw new Error(`${violations.length} of ${count}\n${violations.join('\n')}`)
  return `prism ${version}: ${count} requests to a rich application and the atlas, no violation`
}

async function through(
  program: string,
  place: string,
  app: Application,
  requests: readonly PrismRequest[],
  violations: string[],
): Promise<number> {
  const document = join(place, 'openapi.json')
  writeFileSync(document, JSON.stringify(app.openapi))
  const port = await freePort()
  const options = ['proxy', document, app.url, '--port', String(port), '--host', '127.0.0.1']
  const proxy = spawn(process.execPath, [program, ...options], { stdio: 'ignore' })
  try {
    await started(port, proxy)
    for (const spec of requests) violations.push(...(await checkRequest(port, spec)))
  } finally {
    proxy.kill()
    await app.close()
  }
  return requests.length
}

async function checkRequest(port: number, spec: PrismRequest): Promise<string[]> {
  const { method = 'GET', path, json, form, headers, token, status, isBad = false } = spec
  const name = `${method} ${path}${json === undefined ? '' : ` ${JSON.stringify(json)}`}`
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    redirect: 'manual',
  })
  const text = await answer.text()
  const reported = JSON.parse(answer.headers.get('sl-violations') ?? '[]') as Violation[]
  const violations =
    answer.status === status ? [] : [`${name}: ${answer.status} ${text.slice(0, 300)}`]
  for (const { location, message } of reported) {
    if (isBad && location[0] === 'request') continue
    violations.push(`${name}: ${location.join('.')} ${message}`)
  }
  if (isBad && !reported.some(({ location }) => location[0] === 'request'))
    violations.push(`${name}: the document has nothing against it, the server has`)
  return violations
}

async function started(port: number, proxy: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (proxy.exitCode !== null) throw new Error('prism has ended.')
    try {
      await fetch(`http://127.0.0.1:${port}/`, { method: 'OPTIONS' })
      return
    } catch {
      await wait(100)
    }
  }
  throw new Error('prism does not answer.')
}

function atlasRequests(token: string): PrismRequest[] {
  return [
    { path: '/countries', status: 200 },
    { path: '/countries?region=Europe', status: 200 },
    { path: '/countries/IS', status: 200 },
    { path: '/countries/XX', status: 404 },
    { path: '/cities?q=rey&limit=2', status: 200 },
    { path: '/cities?q=a&limit=0', status: 400, isBad: true },
    { path: '/cities?q=', status: 400, isBad: true },
    { path: '/health/live', status: 200 },
    { path: '/metrics', status: 200 },
    { method: 'POST', path: '/login', json: { name: 'ada', password: 'wrong' }, status: 401 },
    { method: 'POST', path: '/login', json: { name: 7 }, status: 400, isBad: true },
    { method: 'POST', path: '/graphql', json: { query: '{ countryCount }' }, status: 200 },
    { method: 'POST', path: '/graphql', json: { query: '{ nothing }' }, token, status: 200 },
    { path: '/graphql?query={countryCount}', status: 200 },
  ]
}
