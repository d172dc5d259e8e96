/**
 * Serves the development page and its JSON at `/__filigree`: to this machine alone, under its own names, and to no
 * page of another origin. Source: decisions, "Third storey: the first hour".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TakeRequest, VisitedApplication } from '../../bootstrap/guest.js'
import { Auth } from '../../auth/auth.js'
import { pageFolder } from '../../core/page-files.js'
import type { Incoming, Outgoing } from '../../http/node-messages.js'
import type { Claims } from '../../http/request.js'
import { describeRecords } from '../describe-records.js'
import { examine, type Examined } from './examine.js'
import { listTries } from './list-tries.js'
import type { Recorder, RecordedRequest } from './recorder.js'
import { listWaiting } from './waiting.js'

const root = '/__filigree'

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function createPage(application: VisitedApplication, recorder: Recorder): TakeRequest {
  const answers = createAnswers(application, recorder)
  return (incoming, outgoing) => {
    const [path = ''] = (incoming.url ?? '').split('?')
    if (path !== root && !path.startsWith(`${root}/`)) return false
    const refusal = refuse(incoming)
    if (refusal !== undefined) send(outgoing, refusal, { error: 'Not for this caller.' })
    else void serve(incoming, outgoing, path.slice(root.length).replace(/\/$/, ''), answers)
    return true
  }
}

/** @returns the status for whoever may not see the page; undefined for those who may */
function refuse({ socket, headers }: Incoming): number | undefined {
  // The peer itself: forwarded headers are what a client says.
  if (!isLoopback(socket.remoteAddress)) return 404
  const { host = '', origin } = headers
  if (!/^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(host)) return 403
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return 403
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none' ? undefined : 403
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/.test(address)
}

type Answers = Readonly<Record<string, (query: URLSearchParams, body: unknown) => unknown>>

function createAnswers({ plan, state }: VisitedApplication, recorder: Recorder): Answers {
  const after = (query: URLSearchParams): number => Number(query.get('after') ?? '0')
  return {
    'GET /requests': (query) =>
      recorder.requests.filter(({ number }) => number > after(query)).map(toSummary),
    'GET /request': (query): Promise<Examined> | null => {
      const number = Number(query.get('number'))
      const found = recorder.requests.find((one) => one.number === number)
      return found === undefined ? null : examine(found, state.database)
    },
    'GET /routes': () => listTries(plan),
    'GET /records': () => describeRecords(plan),
    'GET /waiting': () => listWaiting(plan.container.instances()),
    'GET /log': (query) => recorder.lines.filter(({ time }) => time > after(query)),
    'POST /token': async (_query, body) => {
      const { claims = {} } = (body ?? {}) as { claims?: Claims }
      return { token: await plan.container.get<Auth>(Auth).getToken(claims) }
    },
    'POST /forget': () => {
      recorder.forget()
      return {}
    },
  }
}

function toSummary(request: RecordedRequest): object {
  const { number, time, method, url, route, status, ms, caller, fault } = request
  const statements = countStatements(request.steps)
  return {
    number,
    time,
    method,
    url,
    route,
    status,
    ms,
    caller,
    statements,
    failed: fault !== null,
  }
}

function countStatements(steps: RecordedRequest['steps']): number {
  return steps.reduce(
    (sum, step) => sum + (step.kind === 'statement' ? 1 : 0) + countStatements(step.steps),
    0,
  )
}

async function serve(
  incoming: Incoming,
  outgoing: Outgoing,
  path: string,
  answers: Answers,
): Promise<void> {
  const method = incoming.method ?? 'GET'
  try {
    const file = files[path]
    if (method === 'GET' && file !== undefined) {
      const [name, type] = file
      sendText(outgoing, 200, type, readFileSync(join(folder(), name), 'utf8'))
      return
    }
    const answer = answers[`${method} ${path}`]
    if (answer === undefined) {
      send(outgoing, 404, { error: 'Not found' })
      return
    }
    const query = new URLSearchParams((incoming.url ?? '').split('?')[1] ?? '')
    const value = await answer(query, method === 'POST' ? await readBody(incoming) : undefined)
    if (value === null) send(outgoing, 404, { error: 'It is not kept any more.' })
    else send(outgoing, 200, value)
  } catch (error) {
    send(outgoing, 500, { error: error instanceof Error ? error.message : String(error) })
  }
}

let found: string | undefined

function folder(): string {
  found ??= pageFolder({ name: 'development', package: 'filigree', within: 'src/cli/dev/page' })
  return found
}

const mostBytes = 65_536

/** A page of another origin cannot send JSON without being asked about first. */
async function readBody(incoming: Incoming): Promise<unknown> {
  if (!/^application\/json\b/.test(incoming.headers['content-type'] ?? ''))
    throw new Error('Send application/json.')
  let text = ''
  for await (const chunk of incoming) {
    text += String(chunk)
    if (text.length > mostBytes) throw new Error('That is too large.')
  }
  return JSON.parse(text) as unknown
}

function send(outgoing: Outgoing, status: number, value: unknown): void {
  sendText(outgoing, status, 'application/json; charset=utf-8', JSON.stringify(value))
}

function sendText(outgoing: Outgoing, status: number, type: string, text: string): void {
  outgoing.writeHead(status, [
    ...['Content-Type', type, 'Content-Length', String(Buffer.byteLength(text))],
    ...['Content-Security-Policy', policy, 'X-Content-Type-Options', 'nosniff'],
    ...['Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    ...['Cross-Origin-Resource-Policy', 'same-origin'],
  ])
  outgoing.end(text)
}
