/** Describes the sign-in of the application, for the form of the page. */
import {
  describeFields,
  Field,
  type DescribedRoutes,
  type Presentation,
  type RouteInfo,
} from '../../index.js'
import type { AdminOptions } from './options.js'
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
  /** The `label` of the field. */
  readonly title?: string
}

interface DescribedLogin {
  /** Undefined if there are problems. */
  readonly form: SchemaPart | undefined
  readonly problems: readonly LoginProblem[]
}

interface LoginProblem {
  readonly code: 'INVALID_OPTION'
  readonly message: string
  readonly remedy: string
}

/**
 * Describes the sign-in form. The paths include the application's prefix.
 *
 * @returns problems if the application has no such route, or its body has no fields for a form
 */
export function readLogin(
  { path: page, login }: AdminOptions,
  routes: DescribedRoutes,
): DescribedLogin {
  const { path, signOut, buttons = true } = login
  const signOutPath = `${page}/api/sign-out`
  const prefix = prefixOf(signOutPath, routes)
  const route = findPost(routes, prefix, path)
  const problems = [
    ...(route === undefined ? [missingRoute('login.path', path)] : []),
    ...(signOut !== undefined && findPost(routes, prefix, signOut) === undefined
      ? [missingRoute('login.signOut', signOut)]
      : []),
  ]
  const fields = route === undefined ? [] : describeBody(route, routes)
  if (route !== undefined && fields.length === 0) problems.push(missingBody(path))
  if (problems.length > 0) return { form: undefined, problems }
  const form = {
    path: prefix + path,
    method: 'POST',
    fields,
    signOut: prefix + (signOut ?? signOutPath),
    ...(buttons ? describeOtherSignIns(prefix, routes) : {}),
  }
  return { form, problems }
}

/** The fields of a route's body. */
function describeBody(login: RouteInfo, routes: DescribedRoutes): SchemaPart[] {
  const { operations, schemas } = routes.describe([login])
  const body = (operations.get(login) as { requestBody?: unknown } | undefined)?.requestBody
  const { content = {} } = (body ?? {}) as {
    content?: Record<string, { schema?: CredentialsSchema }>
  }
  const { $ref, ...plain } = content['application/json']?.schema ?? {}
  const named =
    $ref === undefined ? plain : (schemas[$ref.split('/').at(-1) ?? ''] as CredentialsSchema)
  const { properties = {}, required = [] } = named
  return Object.entries(properties)
    .filter(([, { readOnly }]) => readOnly !== true)
    .map(([name, schema]) => toField(name, schema, required.includes(name)))
}

/** The sign-ins of `oidc()` and `passkeys()`, which have fixed paths. */
function describeOtherSignIns(prefix: string, { all }: DescribedRoutes): SchemaPart {
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
function prefixOf(signOutPath: string, { all }: DescribedRoutes): string {
  const ends = all.filter(({ path }) => path.endsWith(signOutPath)).map(({ path }) => path)
  const [shortest = signOutPath] = ends.sort((one, other) => one.length - other.length)
  return shortest.slice(0, -signOutPath.length)
}

function findPost({ all }: DescribedRoutes, prefix: string, path: string): RouteInfo | undefined {
  const fullPath = (prefix + path).replace(/\/+$/, '')
  return all.find((route) => route.method === 'POST' && route.path.replace(/\/+$/, '') === fullPath)
}

function missingRoute(option: string, path: string): LoginProblem {
  return {
    code: 'INVALID_OPTION',
    message: `admin: ${option} is ${path}, but the application has no route POST ${path}.`,
    remedy: 'Write the path of an existing route, without the prefix of the application.',
  }
}

function missingBody(path: string): LoginProblem {
  return {
    code: 'INVALID_OPTION',
    message: `admin: login.path is ${path}, but its route does not describe a body.`,
    remedy: 'Give the route the class of its body: @Post({ body: Credentials }).',
  }
}

function toField(name: string, schema: CredentialsSchema, required: boolean): SchemaPart {
  const {
    type,
    minLength,
    maxLength,
    pattern,
    enum: oneOf,
    description: help,
    title: label,
  } = schema
  const [first] = [type ?? []].flat()
  const kind = presentationOf(first)
  const field = { name, label, kind, required, minLength, maxLength, pattern, oneOf, help }
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
