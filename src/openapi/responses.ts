/** The answers of a route: those it declares, those its samples show, and those of the gate and the checks. */
import { STATUS_CODES } from 'node:http'
import type {
  ContentObject,
  HeaderObject,
  HeadersObject,
  MediaTypeObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
} from 'openapi3-ts/oas31'
import { asksForMore as needsMore } from '../auth/access.js'
import { resolveType, type DeclaredType } from '../fields/type-of.js'
import { plainType, restType } from '../routing/path-types.js'
import { bodyMedia } from './body-media.js'
import type { DocNote, DocResponse } from './doc.js'
import { anySuccess, asksWho, type DocumentedRoute } from './documented-route.js'
import { errorContent, errorReference } from './error-components.js'
import { inferSchema } from './infer-schema.js'
import { describedHeader } from './parameters.js'
import { toPlainJson } from './plain-json.js'
import { securedMembers, type Schemas } from './schemas.js'

/** By ascending status, `default` last. */
export function responses(
  documented: DocumentedRoute,
  note: DocNote,
  schemas: Schemas,
): ResponsesObject {
  const answers = new Map<number, ResponseObject | ReferenceObject>()
  const declared = declaredAnswers(documented, note)
  for (const [status, type] of declared) {
    answers.set(
      status,
      toResponse({ status, type, sample: sampleFor(status, declared, note) }, schemas),
    )
  }
  for (const [status, reference] of ownAnswers(documented, note)) {
    if (!answers.has(status)) answers.set(status, reference)
  }
  for (const [status, said] of note.responses) {
    const before = answers.get(status)
    const type = declared.get(status)
    answers.set(status, documentedAnswer({ status, said, before, type }, schemas))
  }
  const rising = [...answers].sort(([first], [second]) => first - second)
  const secured = !documented.access.open
  const fresh = (answer: ResponseObject): ResponseObject =>
    secured ? withFreshToken(answer) : answer
  const entries = rising.map(([status, answer]) => [
    String(status),
    isSuccess(status) && !('$ref' in answer) ? fresh(answer) : answer,
  ])
  const said = Object.fromEntries(entries) as ResponsesObject
  const open = isOpen(documented, note) ? openAnswers(fresh(anyAnswer)) : {}
  return { ...open, ...said, default: errorReference('Failure') }
}

/** 200 is what such a handler usually answers with, and what generated clients look for. */
function openAnswers(any: ResponseObject): ResponsesObject {
  return { 200: any, '2XX': any, '3XX': redirection }
}

/** Whether no successful answer is declared: then the handler may return anything. */
function isOpen({ route, classes }: DocumentedRoute, note: DocNote): boolean {
  const declared = [...classes.returns.keys(), ...note.responses.keys()]
  return route.options.status === undefined && !declared.some((status) => status < 400)
}

/** The declared answers, by status. */
function declaredAnswers(
  documented: DocumentedRoute,
  note: DocNote,
): ReadonlyMap<number, DeclaredType | undefined> {
  const { route, classes } = documented
  const successes = [...note.responses.keys()].filter((status) => status < 400)
  const usual = route.options.status ?? successes.find(isSuccess) ?? 200
  const answers = new Map<number, DeclaredType | undefined>()
  for (const [status, type] of classes.returns)
    answers.set(status === anySuccess ? usual : status, type)
  const hasSample = Object.hasOwn(note, 'exampleResponse')
  const hasSuccess = [...answers.keys(), ...successes].some((status) => status < 400)
  if (hasSample || (!hasSuccess && !isOpen(documented, note))) {
    if (![...answers.keys()].some(isSuccess)) answers.set(usual, undefined)
  }
  return answers
}

/** The sample belongs to the first successful status. */
function sampleFor(status: number, declared: ReadonlyMap<number, unknown>, note: DocNote): unknown {
  const first = [...declared.keys()].filter(isSuccess).sort((a, b) => a - b)[0]
  return status === first ? toPlainJson(note.exampleResponse) : undefined
}

interface AnswerParts {
  readonly status: number
  readonly type: DeclaredType | undefined
  readonly sample: unknown
}

function toResponse({ status, type, sample }: AnswerParts, schemas: Schemas): ResponseObject {
  const description = STATUS_CODES[status] ?? 'Answer'
  if (isBodyless(status)) return { description }
  const example: MediaTypeObject = sample === undefined ? {} : { example: sample }
  if (type !== undefined) {
    const schema = schemas.of(type, 'output')
    return { description, content: { 'application/json': { schema, ...example } } }
  }
  if (sample === undefined) return { description, content: anyContent }
  const media = typeof sample === 'string' ? 'text/plain' : 'application/json'
  return { description, content: { [media]: { schema: inferSchema(sample), ...example } } }
}

/** For routes that do not declare what they send. */
const anyContent: ContentObject = { '*/*': { schema: {} } }
const anyAnswer: ResponseObject = { description: 'What the handler returns.', content: anyContent }
const redirection: ResponseObject = {
  description: 'A redirection, if the handler answers with one.',
  headers: { Location: { description: 'Where to go.', schema: { type: 'string' } } },
}

/** The answers given before and around the handler, for exactly this route. */
function ownAnswers(documented: DocumentedRoute, note: DocNote): [number, ReferenceObject][] {
  const { access, classes, route } = documented
  const { query, returns } = classes
  const reads = bodyMedia(documented, note).length > 0
  const answers: (readonly [boolean, number, ReferenceObject])[] = [
    [reads || query !== undefined, 400, errorReference('BadRequest')],
    [!access.open || asksWho(documented), 401, errorReference('Unauthorized')],
    [asksForMore(documented), 403, errorReference('Forbidden')],
    [misses(route, returns), 404, errorReference('NotFound')],
    [reads, 413, errorReference('TooLarge')],
    [reads, 415, errorReference('UnsupportedMediaType')],
  ]
  return answers.flatMap(([given, status, reference]) => (given ? [[status, reference]] : []))
}

/** True if the route may answer 404: a path parameter may be of another type, or the resource may be missing. */
function misses(
  { method, pattern }: DocumentedRoute['route'],
  returns: DocumentedRoute['classes']['returns'],
): boolean {
  const types = pattern.segments.flatMap((part) => (part.kind === 'parameter' ? [part.type] : []))
  if (types.some((type) => type !== plainType && type !== restType)) return true
  const one = [...returns].some(
    ([status, { list }]) => !list && (status === anySuccess || isSuccess(status)),
  )
  // A resource that was just created exists.
  return one && (method === 'GET' || types.length > 0)
}

function asksForMore({ access, classes, route }: DocumentedRoute): boolean {
  if (!access.open && needsMore(access)) return true
  // For a record's own routes: filters cannot use fields that the caller may not read.
  return (
    route.argumentNames.includes('user') &&
    [...classes.returns.values()].some(({ type }) => securedMembers(type).size > 0)
  )
}

interface Documented {
  readonly status: number
  readonly said: DocResponse
  readonly before: ResponseObject | ReferenceObject | undefined
  /** The class that the route declares for the status. */
  readonly type: DeclaredType | undefined
}

/** Adds what `@Doc` says about a status to what is already known. */
function documentedAnswer(documented: Documented, schemas: Schemas): ResponseObject {
  const { status, said, before } = documented
  const known = before !== undefined && !('$ref' in before) ? before : undefined
  const sample = toPlainJson(said.example)
  const named = said.type === undefined ? undefined : resolveType(said.type)
  const type = named ?? (sample === undefined ? undefined : documented.type)
  const description = said.description ?? known?.description ?? STATUS_CODES[status] ?? 'Answer'
  const headers = documentedHeaders(said)
  const answer = answerOf(documented, schemas, { type, sample, known })
  return {
    ...answer,
    description,
    ...(headers === undefined ? {} : { headers: { ...answer.headers, ...headers } }),
  }
}

function documentedHeaders({ headers = {} }: DocResponse): HeadersObject | undefined {
  const entries = Object.entries(headers).map(([name, said]): [string, HeaderObject] => {
    const header = typeof said === 'string' ? { description: said } : said
    return [
      name,
      { ...describedHeader(header), ...(header.required === true && { required: true }) },
    ]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

interface Known {
  readonly type: DeclaredType | undefined
  readonly sample: unknown
  /** The answer without `@Doc`. */
  readonly known: ResponseObject | undefined
}

function answerOf({ status }: Documented, schemas: Schemas, of: Known): ResponseObject {
  const { type, sample, known } = of
  if (type !== undefined || sample !== undefined)
    return toResponse({ status, type, sample }, schemas)
  if (known !== undefined) return known
  if (status >= 400) return { description: '', content: errorContent }
  return toResponse({ status, type: undefined, sample: undefined }, schemas)
}

function withFreshToken(answer: ResponseObject): ResponseObject {
  return {
    ...answer,
    headers: { FreshToken: { $ref: '#/components/headers/FreshToken' }, ...answer.headers },
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function isBodyless(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || (status >= 300 && status < 400)
}
