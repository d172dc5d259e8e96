/** Serves the development page and its JSON at `/__filigree`, to clients on this machine that have the secret. */

import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { shapeOf, type ShapeField } from '../../fields/shape.js'
import type { Class } from '../../metadata/class.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import {
  listRoutes,
  type ListedRoute,
  describeRecords,
  describeTables,
} from '../describe-application.js'
import type { AttachedHost, HostedApplication } from '../../bootstrap/cli-hooks.js'
import { Auth } from '../../auth/auth.js'
import { HeaderList } from '../../http/header-list.js'
import { pageFolder } from '../../http/page-files.js'
import type { Outgoing } from '../../http/node-messages.js'
import type { Claims } from '../../http/request.js'
import { inspectRequest, type InspectedRequest } from './inspect-request.js'
import { JobsAndMail, listPendingWork } from './pending-work.js'
import type { RecordedRequest, RecordedStep, Recorder } from './recorder.js'
import { createFailurePage, withoutSecretHint } from './failure-pages.js'
import {
  pageRoot as root,
  checkPageAccess,
  lacksOnlySecret,
  secretCookie,
  secretInAddress,
} from './page-access.js'

const html = 'text/html; charset=utf-8'
const script = 'text/javascript; charset=utf-8'
const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '': ['index.html', html],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', script],
  '/elements.js': ['elements.js', script],
  '/requests.js': ['requests.js', script],
  '/request.js': ['request.js', script],
  '/routes.js': ['routes.js', script],
  '/views.js': ['views.js', script],
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** @param secret of the page, which clients must send in the address or as the cookie that the page sets */
export function createPage(
  application: HostedApplication,
  recorder: Recorder,
  secret: string,
): AttachedHost {
  const handlers = createHandlers(application, recorder)
  const show = (text: string): string => recorder.redactor.text(text)
  const take: AttachedHost['take'] = (incoming, outgoing) => {
    const [path = ''] = (incoming.url ?? '').split('?')
    if (path !== root && !path.startsWith(`${root}/`)) return false
    const refusal = checkPageAccess(incoming, secret)
    const pagePath = path.slice(root.length).replace(/\/$/, '')
    if (refusal !== undefined) send(outgoing, refusal.status, { error: refusal.error })
    else if (pagePath === '' && secretInAddress(incoming.url) !== null) {
      // The secret is moved from the address to a cookie, so that the history and screenshots do not show it.
      const cookie = secretCookie(incoming.headers.host ?? '', secret)
      const headers = { Location: root, 'Set-Cookie': cookie, ...pageHeaders }
      outgoing.writeHead(303, HeaderList.from(headers).flat)
      outgoing.end()
    } else void serve({ incoming, outgoing, path: pagePath, handlers, show })
    return true
  }
  const errorPage: AttachedHost['errorPage'] = (request) => {
    if (
      request.response.failure === undefined ||
      checkPageAccess(request.incoming, secret) !== undefined
    )
      return undefined
    const recorded = recorder.recordError(request, request.response.failure)
    if (recorded === undefined) return undefined
    return { html: createFailurePage(readPageFile('index.html'), recorded), headers: pageHeaders }
  }
  const errorHint: AttachedHost['errorHint'] = (request) => {
    const { failure } = request.response
    if (failure === undefined || !lacksOnlySecret(request.incoming, secret)) return undefined
    const fault = recorder.recordError(request, failure)?.fault
    const error = fault == null ? '' : `${fault.name}: ${fault.message} — `
    return error + withoutSecretHint
  }
  return { take, errorPage, errorHint }
}

type Handlers = Readonly<Record<string, (query: URLSearchParams, body: unknown) => unknown>>

function createHandlers({ plan, state }: HostedApplication, recorder: Recorder): Handlers {
  const { redactor } = recorder
  const after = (query: URLSearchParams): number => Number(query.get('after') ?? '0')
  const jobsAndMail = (): JobsAndMail => new JobsAndMail(plan.container.instances(), redactor)
  return {
    'GET /requests': (query) => {
      const text = query.get('text') ?? ''
      return recorder.requests
        .filter((one) => one.number > after(query) && (text === '' || containsText(one, text)))
        .map(toSummary)
    },
    'GET /request': (query): Promise<InspectedRequest> | null => {
      const number = Number(query.get('number'))
      const request = recorder.requests.find((one) => one.number === number)
      return request === undefined
        ? null
        : inspectRequest(request, { plan, database: state.database, redactor })
    },
    'GET /routes': () => listRouteForms(plan),
    'GET /records': () => {
      const { database } = state
      const tables = database === undefined ? undefined : describeTables(database, Date.now())
      return describeRecords(plan)
        .map((record) => ({ ...record, ...tables?.get(record.table) }))
        .sort((one, other) => Number(other.own) - Number(one.own))
    },
    'GET /waiting': async (query) => ({
      ...(await listPendingWork(plan.container.instances(), redactor)),
      jobs: await jobsAndMail().jobs(query.get('state') ?? undefined),
      mail: jobsAndMail().mail(),
    }),
    'POST /jobs/retry': (_query, body) => jobsAndMail().retry(readId(body)),
    'POST /jobs/cancel': (_query, body) => jobsAndMail().cancel(readId(body)),
    'GET /log': (query) => recorder.lines.filter(({ time }) => time > after(query)),
    'POST /token': async (_query, body) => {
      const { claims = {} } = (body ?? {}) as { claims?: Claims }
      return { token: await plan.container.get<Auth>(Auth).getToken(claims) }
    },
    'POST /forget': () => {
      recorder.clear()
      return {}
    },
  }
}

/** A request in the list. */
interface RequestSummary extends Pick<
  RecordedRequest,
  'number' | 'time' | 'method' | 'url' | 'route' | 'status' | 'ms' | 'caller' | 'kind' | 'live'
> {
  readonly statements: number
  readonly failed: boolean
}

function toSummary(request: RecordedRequest): RequestSummary {
  const { number, time, method, url, route, status, ms, caller, kind, live, fault } = request
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
    kind,
    live,
    statements,
    failed: fault !== null,
  }
}

function countStatements(steps: readonly RecordedStep[]): number {
  return steps.reduce(
    (sum, step) => sum + (step.kind === 'statement' ? 1 : 0) + countStatements(step.steps),
    0,
  )
}

/** Looks for a text in everything that the page shows of a request: its address, body, headers, SQL, log and error. */
function containsText(request: RecordedRequest, text: string): boolean {
  return JSON.stringify(request)
    .toLowerCase()
    .includes(JSON.stringify(text.toLowerCase()).slice(1, -1))
}

function readId(body: unknown): number {
  const { id } = (body ?? {}) as { id?: unknown }
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0) return id
  throw new RequestError(400, 'Send { "id": 7 }.')
}

interface PageRequest {
  readonly incoming: IncomingMessage
  readonly outgoing: Outgoing
  readonly path: string
  readonly handlers: Handlers
  /** Removes secrets from a text. */
  readonly show: (text: string) => string
}

async function serve({ incoming, outgoing, path, handlers, show }: PageRequest): Promise<void> {
  const method = incoming.method ?? 'GET'
  try {
    const file = Object.hasOwn(files, path) ? files[path] : undefined
    if (method === 'GET' && file !== undefined) {
      const [name, type] = file
      sendText(outgoing, 200, type, readPageFile(name))
      return
    }
    const key = `${method} ${path}`
    const handler = Object.hasOwn(handlers, key) ? handlers[key] : undefined
    if (handler === undefined) {
      send(outgoing, 404, { error: 'Not found' })
      return
    }
    const query = new URLSearchParams((incoming.url ?? '').split('?')[1] ?? '')
    const value = await handler(query, method === 'POST' ? await readBody(incoming) : undefined)
    if (value === null) send(outgoing, 404, { error: 'The request is not stored any more.' })
    else send(outgoing, 200, value)
  } catch (error) {
    // A POST fails because of its body, such as a wrong id.
    const status = error instanceof RequestError ? error.status : method === 'POST' ? 400 : 500
    send(outgoing, status, { error: show(error instanceof Error ? error.message : String(error)) })
  }
}

let cachedFolder: string | undefined

function readPageFile(name: string): string {
  cachedFolder ??= pageFolder({
    name: 'development',
    package: 'filigree',
    subfolder: 'src/cli/dev/page',
  })
  return readFileSync(join(cachedFolder, name), 'utf8')
}

const maxBodyBytes = 65_536

/** Thrown for a body that cannot be read. */
class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Reads a JSON body. Requiring JSON makes browsers ask (preflight) before a page of another origin can send a request. */
async function readBody(incoming: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/i.test(incoming.headers['content-type'] ?? ''))
    throw new RequestError(415, 'Send application/json.')
  if (Number(incoming.headers['content-length'] ?? 0) > maxBodyBytes)
    throw new RequestError(413, 'The body is too large.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    chunks.push(Buffer.from(chunk as Uint8Array))
    bytes += (chunk as Uint8Array).byteLength
    if (bytes > maxBodyBytes) throw new RequestError(413, 'The body is too large.')
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch {
    throw new RequestError(400, 'The body is not JSON.')
  }
}

function send(outgoing: Outgoing, status: number, value: unknown): void {
  sendText(outgoing, status, 'application/json; charset=utf-8', JSON.stringify(value))
}

function sendText(outgoing: Outgoing, status: number, type: string, text: string): void {
  const headers = HeaderList.from({
    'Content-Type': type,
    'Content-Length': String(Buffer.byteLength(text)),
    ...pageHeaders,
  })
  // The rest of a body that is too large is not read.
  if (status === 413) headers.add('Connection', 'close')
  outgoing.writeHead(status, headers.flat)
  outgoing.end(text)
}

const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

// The routes with sample input, for the forms that try them.

/** A route with the data of the form that tries it. */
interface RouteForm extends ListedRoute {
  /** Path parameters with their types. */
  readonly parameters: readonly { readonly name: string; readonly type: string }[]
  readonly query: readonly string[]
  /** A sample body. Undefined if the route does not read a body. */
  readonly body?: unknown
  /** Media types of bodies that the route reads. */
  readonly media: readonly string[]
}

function listRouteForms(plan: ApplicationPlan): RouteForm[] {
  const planned = new Map(
    plan.routes.map((one) => [`${one.route.method} ${one.route.pattern.text}`, one]),
  )
  return listRoutes(plan).map((listed): RouteForm => {
    const one = planned.get(`${listed.method} ${listed.path}`)
    if (one !== undefined) return { ...listed, ...describe(one) }
    const body = listed.method === 'POST' ? { query: '{ __typename }' } : undefined
    return { ...listed, parameters: [], query: [], media: ['application/json'], body }
  })
}

function describe({ route, classes, media }: PlannedRoute): Omit<RouteForm, keyof ListedRoute> {
  const parameters = route.pattern.segments.flatMap((segment) =>
    segment.kind === 'static' ? [] : [{ name: segment.name, type: segment.type.name }],
  )
  const query =
    classes.query === undefined ? [] : inputFields(classes.query.type).map(({ name }) => name)
  const body =
    classes.body === undefined
      ? media.length > 0 && route.method !== 'GET'
        ? {}
        : undefined
      : sampleOf(classes.body.type)
  return { parameters, query, media, body }
}

function inputFields(type: Class): readonly ShapeField[] {
  return shapeOf(type).fields.filter(({ hidden, readOnly }) => !hidden && !readOnly)
}

/** A body with the required fields, and with the fields that have an example. */
function sampleOf(type: Class, depth = 0): Record<string, unknown> {
  const fields = inputFields(type).filter(
    ({ optional, rules }) => !optional || rules.example !== undefined,
  )
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field, depth)]))
}

const sampleValues: Readonly<Record<string, unknown>> = {
  string: '',
  integer: 1,
  numeric: 1,
  boolean: true,
  id: 1,
  decimal: '1.00',
  bigint: '1',
  date: '2026-01-31',
  time: '12:00:00',
  datetime: '2026-01-31T12:00:00Z',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function valueOf({ kind, list, nested, rules }: ShapeField, depth: number): unknown {
  const one =
    rules.example ??
    rules.oneOf?.[0] ??
    (nested !== undefined && depth < 2
      ? sampleOf(nested(), depth + 1)
      : (sampleValues[kind] ?? null))
  return list && !Array.isArray(one) ? [one] : one
}
