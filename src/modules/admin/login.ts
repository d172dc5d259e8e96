/** The application's sign-in as the page asks for it. Source: specification, Admin page 1. */
import { DeclarationError, type RouteInfo, type Routes } from '../../index.js'
import type { LoginOptions } from './options.js'

type Json = Record<string, unknown>

/** What of JSON Schema a form goes by. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly readOnly?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly description?: string
}

/**
 * The addresses have the application's prefix, as the page is behind it.
 *
 * @param own the path of the page's own sign-out
 * @throws {DeclarationError} where the application has no such route, or one that takes nothing that a form can ask for
 */
export function describeLogin({ path, signOut }: LoginOptions, own: string, routes: Routes): Json {
  const prefix = prefixOf(own, routes)
  const login = findPost(routes, prefix, 'login.path', path)
  if (signOut !== undefined) findPost(routes, prefix, 'login.signOut', signOut)
  const { operations, schemas } = routes.describe()
  const body = (operations.get(login) as { requestBody?: unknown } | undefined)?.requestBody
  const { content = {} } = (body ?? {}) as { content?: Record<string, { schema?: Schema }> }
  const { $ref, ...plain } = content['application/json']?.schema ?? {}
  const named = $ref === undefined ? plain : (schemas[$ref.split('/').at(-1) ?? ''] as Schema)
  const { properties = {}, required = [] } = named
  const fields = Object.entries(properties)
    .filter(([, { readOnly }]) => readOnly !== true)
    .map(([name, schema]) => toField(name, schema, required.includes(name)))
  if (fields.length === 0)
    throw fault(
      `admin: login.path names ${path}, whose form is not known.`,
      'Give the route the class of its body: @Post({ body: Credentials }).',
    )
  return { path: prefix + path, method: 'POST', fields, signOut: prefix + (signOut ?? own) }
}

/** What stands before every path; another page may be at a longer one. */
function prefixOf(own: string, { all }: Routes): string {
  const ends = all.filter(({ path }) => path.endsWith(own)).map(({ path }) => path)
  const [shortest = own] = ends.sort((one, other) => one.length - other.length)
  return shortest.slice(0, -own.length)
}

function findPost(routes: Routes, prefix: string, option: string, path: string): RouteInfo {
  const wanted = (prefix + path).replace(/\/+$/, '')
  const found = routes.all.find(
    (route) => route.method === 'POST' && route.path.replace(/\/+$/, '') === wanted,
  )
  if (found !== undefined) return found
  throw fault(
    `admin: ${option} names ${path}, but the application has no route POST ${path}.`,
    'Name one that it has, without the prefix of the application.',
  )
}

function toField(name: string, schema: Schema, required: boolean): Json {
  const { type, minLength, maxLength, pattern, enum: oneOf, description: help } = schema
  const [first = 'string'] = [type ?? 'string'].flat()
  const kind = first === 'number' ? 'float' : first
  const field = { name, kind, required, minLength, maxLength, pattern, oneOf, help }
  return Object.fromEntries(
    Object.entries(field).filter(([, value]) => value !== undefined && value !== false),
  )
}

function fault(message: string, remedy: string): DeclarationError {
  return new DeclarationError([{ code: 'INVALID_OPTION', message, remedy }])
}
