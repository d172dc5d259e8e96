/** Describes the sign-in of the application, for the form of the page. */
import {
  DeclarationError,
  describeFields,
  Field,
  type Presentation,
  type RouteInfo,
  type Routes,
} from '../../index.js'
import type { LoginOptions } from './options.js'
import type { SchemaPart } from './schema.js'

/** The parts of JSON Schema that the sign-in form uses. */
interface CredentialsSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, CredentialsSchema>>
  readonly required?: readonly string[]
  readonly readOnly?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly description?: string
}

/**
 * Describes the sign-in form. The paths include the application's prefix.
 *
 * @param signOutPath the path of the page's own sign-out
 * @throws {DeclarationError} if the application has no such route, or its body has no fields for a form
 */
export function describeLogin(
  { path, signOut, buttons = true }: LoginOptions,
  signOutPath: string,
  routes: Routes,
): SchemaPart {
  const prefix = prefixOf(signOutPath, routes)
  const login = findPost(routes, prefix, 'login.path', path)
  if (signOut !== undefined) findPost(routes, prefix, 'login.signOut', signOut)
  const { operations, schemas } = routes.describe()
  const body = (operations.get(login) as { requestBody?: unknown } | undefined)?.requestBody
  const { content = {} } = (body ?? {}) as {
    content?: Record<string, { schema?: CredentialsSchema }>
  }
  const { $ref, ...plain } = content['application/json']?.schema ?? {}
  const named =
    $ref === undefined ? plain : (schemas[$ref.split('/').at(-1) ?? ''] as CredentialsSchema)
  const { properties = {}, required = [] } = named
  const fields = Object.entries(properties)
    .filter(([, { readOnly }]) => readOnly !== true)
    .map(([name, schema]) => toField(name, schema, required.includes(name)))
  if (fields.length === 0)
    throw invalidLogin(
      `admin: login.path is ${path}, but its route does not describe a body.`,
      'Give the route the class of its body: @Post({ body: Credentials }).',
    )
  return {
    path: prefix + path,
    method: 'POST',
    fields,
    signOut: prefix + (signOut ?? signOutPath),
    ...(buttons ? describeOtherSignIns(prefix, routes) : {}),
  }
}

/** The sign-ins of `oidc()` and `passkeys()`, which have fixed paths. */
function describeOtherSignIns(prefix: string, { all }: Routes): SchemaPart {
  const paths = new Set(all.map(({ method, path }) => `${method} ${path.replace(/\/+$/, '')}`))
  const start = `GET ${prefix}/signin/`
  const providers = [...paths].flatMap((path) => {
    const name = path.startsWith(start) ? path.slice(start.length) : ''
    return /^[\w-]+$/.test(name) && paths.has(`${path}/callback`) ? [name] : []
  })
  return {
    ...(providers.length > 0 && { prefix, providers: providers.sort() }),
    ...(paths.has(`POST ${prefix}/passkeys/signin/options`) && { prefix, passkeys: true }),
  }
}

/** The application's prefix. A second admin page may have a longer path, so the shortest match counts. */
function prefixOf(signOutPath: string, { all }: Routes): string {
  const ends = all.filter(({ path }) => path.endsWith(signOutPath)).map(({ path }) => path)
  const [shortest = signOutPath] = ends.sort((one, other) => one.length - other.length)
  return shortest.slice(0, -signOutPath.length)
}

function findPost(routes: Routes, prefix: string, option: string, path: string): RouteInfo {
  const fullPath = (prefix + path).replace(/\/+$/, '')
  const found = routes.all.find(
    (route) => route.method === 'POST' && route.path.replace(/\/+$/, '') === fullPath,
  )
  if (found !== undefined) return found
  throw invalidLogin(
    `admin: ${option} is ${path}, but the application has no route POST ${path}.`,
    'Write the path of an existing route, without the prefix of the application.',
  )
}

function toField(name: string, schema: CredentialsSchema, required: boolean): SchemaPart {
  const { type, minLength, maxLength, pattern, enum: oneOf, description: help } = schema
  const [first] = [type ?? []].flat()
  const kind = presentationOf(first)
  const field = { name, kind, required, minLength, maxLength, pattern, oneOf, help }
  return Object.fromEntries(
    Object.entries(field).filter(([, value]) => value !== undefined && value !== false),
  )
}

/** A field of each JSON type, by its name. */
class ValueOfEachType {
  @Field('string') string!: string
  @Field('integer') integer!: number
  @Field('numeric') number!: number
  @Field('boolean') boolean!: boolean
}

function presentationOf(jsonType = 'string'): Presentation | undefined {
  const fields = describeFields(ValueOfEachType)
  return (fields.find(({ name }) => name === jsonType) ?? fields[0])?.presentation
}

function invalidLogin(message: string, fix: string): DeclarationError {
  return new DeclarationError([{ code: 'INVALID_OPTION', message, remedy: fix }])
}
