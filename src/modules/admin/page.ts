/** The public routes of the page: HTML, scripts, styles, the description of the sign-in form, and the sign-out. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  Auth,
  Controller,
  DeclarationError,
  Get,
  NoAuth,
  Post,
  Routes,
  Secured,
  Undocumented,
  type Claims,
  type Interceptor,
  type ModuleOptions,
  type Next,
  ApplicationState,
  type RouteInfo,
  type Session,
  entityTag,
  html,
  HttpError,
  matchesEntityTag,
  reply,
  type HttpRequest,
  type Reply,
} from '../../index.js'
import type { AdminOptions, LoginOptions } from './options.js'
import { parseColour, themeCss } from './theme.js'

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

/** Serves the page. It contains no data, so it is public. */
export function pageController(options: AdminOptions): ControllerClass {
  const { path, login } = options
  @Controller(path)
  @Undocumented
  @NoAuth
  class AdminPage {
    static readonly inject = [Routes, ApplicationState]
    readonly #assets = new Assets(options)
    #login: object | undefined

    constructor(
      private readonly routes: Routes,
      private readonly state: ApplicationState,
    ) {}

    onStart(): void {
      this.#login = describeLogin(login, `${path}/api/sign-out`, this.routes)
    }

    @Get('/')
    show(request: HttpRequest): Reply {
      return showPage(baseOf(request, path), options, this.mayBeSignedIn(request))
    }

    @Get('/<rest:path>')
    view(rest: string, request: HttpRequest): Reply {
      if (/^(?:api|assets)(?:\/|$)/.test(rest)) throw new HttpError(404)
      return showPage(baseOf(request, path), options, this.mayBeSignedIn(request))
    }

    private mayBeSignedIn({ headers }: HttpRequest): boolean {
      return mayBeSignedIn(headers, this.state.cookieName('token'))
    }

    @Get('/assets/<name>')
    asset(name: string, request: HttpRequest): Promise<Reply> {
      return this.#assets.show(name, request)
    }

    @Get('/api/login')
    login(): object {
      return this.#login ?? {}
    }
  }
  return AdminPage
}

export function signOutController({ path }: AdminOptions): ControllerClass {
  @Controller(`${path}/api/sign-out`)
  @Undocumented
  @Secured
  class AdminSignOut {
    static readonly inject = [Auth]
    constructor(private readonly auth: Auth) {}

    @Post('/', { status: 204 })
    async end(user: Claims | null, session: Session): Promise<void> {
      session.destroy()
      if (typeof user?.jti === 'string') await this.auth.revoke(user.jti, user.exp)
    }
  }
  return AdminSignOut
}

/** Forbids caches to store responses with data of a caller, so that nothing is left after a sign-out. */
export class NoStore implements Interceptor {
  static readonly before = 'gate'

  async intercept(_request: HttpRequest, next: Next): Promise<unknown> {
    const response = await next()
    if (response.headers.get('Cache-Control') === undefined || response.status >= 400)
      response.headers.set('Cache-Control', 'no-store')
    return response
  }
}

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["img-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

/** @param base the page's path, including the application's prefix */
function showPage(
  base: string,
  { path, title = 'Admin', logo, colour }: AdminOptions,
  isPossiblySignedIn: boolean,
): Reply<string> {
  const at = escape(base)
  const prefix = base.slice(0, -path.length)
  const image = logo === undefined ? undefined : escape(prefix + logo)
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escape(title)}</title>`,
    `<link rel="icon" href="${image ?? `${at}/assets/icon.svg`}">`,
    `<link rel="stylesheet" href="${at}/assets/admin.css">`,
    ...(colour === undefined ? [] : [`<link rel="stylesheet" href="${at}/assets/theme.css">`]),
    `<script type="module" src="${at}/assets/admin.js"></script>`,
  ]
  const data = [
    `data-path="${at}" data-title="${escape(title)}"`,
    ...(image === undefined ? [] : [`data-logo="${image}"`]),
    ...(isPossiblySignedIn ? ['data-may-be-signed-in=""'] : []),
  ]
  const text = `<!doctype html>
<html lang="en"><head>${head.join('')}</head>
<body ${data.join(' ')}><noscript>This page needs JavaScript.</noscript></body></html>
`
  return (
    html(text)
      .header('Content-Security-Policy', policy)
      .header('X-Frame-Options', 'DENY')
      .header('X-Content-Type-Options', 'nosniff')
      .header('Referrer-Policy', 'no-referrer')
      // Otherwise the browser could show the page again after a sign-out.
      .header('Cache-Control', 'no-store')
  )
}

/**
 * Whether the visitor may be signed in. Otherwise the page opens the sign-in and sends no request that would fail. Cookies of the
 * framework do not identify a caller, except the token's of this application.
 */
function mayBeSignedIn(
  { cookie = '', authorization }: HttpRequest['headers'],
  tokenCookie: string,
): boolean {
  const names = cookie.split(';').map((pair) =>
    pair
      .split('=', 1)
      .join('')
      .trim()
      .replace(/^__Host-/, ''),
  )
  return (
    authorization !== undefined ||
    names.some((name) => name === tokenCookie || (name !== '' && !name.startsWith('app_')))
  )
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const types = {
  'admin.js': 'text/javascript; charset=utf-8',
  'admin.css': 'text/css; charset=utf-8',
  'theme.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 4a12 12 0 1 1-12 12V7q0-3 3-3z" fill="none" stroke="#158291" stroke-width="6"/></svg>
`

type AssetName = keyof typeof types

interface Asset {
  readonly text: string
  readonly packed: Buffer
  readonly tag: string
}

class Assets {
  constructor(private readonly options: AdminOptions) {}

  #files: Promise<ReadonlyMap<string, Asset>> | undefined

  /** @throws {HttpError} 404 for other names */
  async show(name: string, request: HttpRequest): Promise<Reply> {
    const asset = Object.hasOwn(types, name) ? (await this.#all()).get(name) : undefined
    if (asset === undefined) throw new HttpError(404)
    const isPacked = acceptsGzip(request)
    // A strong tag identifies exactly one body.
    const tag = isPacked ? asset.tag.replace(/"$/, '-gzip"') : asset.tag
    const isCurrent = matchesEntityTag(request.headers['if-none-match'], tag)
    const response = isCurrent
      ? reply(null, 304)
      : isPacked
        ? reply(asset.packed)
            .header('Content-Encoding', 'gzip')
            .type(types[name as AssetName])
        : reply(asset.text).type(types[name as AssetName])
    return response
      .header('ETag', tag)
      .header('Vary', 'Accept-Encoding')
      .header('Cache-Control', 'no-cache')
      .header('X-Content-Type-Options', 'nosniff')
  }

  #all(): Promise<ReadonlyMap<string, Asset>> {
    this.#files ??= this.#read().catch((error: unknown) => {
      this.#files = undefined
      throw error
    })
    return this.#files
  }

  async #read(): Promise<ReadonlyMap<string, Asset>> {
    const files = new Map([...(await readFiles()), ['icon.svg', icon]])
    const colour = parseColour(this.options.colour)
    if (colour !== undefined) files.set('theme.css', themeCss(colour))
    const assets = [...files].map(async ([name, text]): Promise<[string, Asset]> => [
      name,
      { text, packed: await compress(text), tag: entityTag(text) },
    ])
    return new Map(await Promise.all(assets))
  }
}

/** Compresses the script, the styles and the schema, which shrink to a third or less. */
export const compress = promisify(gzip)

export function acceptsGzip({ headers }: HttpRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding'] ?? '')
}

async function readFiles(): Promise<[name: string, text: string][]> {
  const source = fileURLToPath(new URL('../../../client/admin/build.mjs', import.meta.url))
  if (!import.meta.url.endsWith('.ts') || !existsSync(source)) {
    return readFolder(fileURLToPath(new URL('../admin/', import.meta.url)))
  }
  const folder = await mkdtemp(join(tmpdir(), 'filigree-admin-'))
  try {
    // Bundlers do not run inside the realm of a Jest test, so this runs in a separate process.
    await promisify(execFile)(process.execPath, [source, folder])
    return await readFolder(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function readFolder(folder: string): Promise<[name: string, text: string][]> {
  return Promise.all(
    ['admin.js', 'admin.css'].map(async (name) => [
      name,
      await readFile(join(folder, name), 'utf8'),
    ]),
  )
}

/** The page's path in this request, including the application's base path. */
function baseOf({ path: requestPath }: HttpRequest, path: string): string {
  const at = `${requestPath}/`.indexOf(`${path}/`)
  return at === -1 ? path : requestPath.slice(0, at) + path
}

type Json = Record<string, unknown>

/** The parts of JSON Schema that the sign-in form uses. */
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
 * Describes the sign-in form. The paths include the application's prefix.
 *
 * @param signOutPath the path of the page's own sign-out
 * @throws {DeclarationError} if the application has no such route, or its body has no fields for a form
 */
function describeLogin(
  { path, signOut, buttons = true }: LoginOptions,
  signOutPath: string,
  routes: Routes,
): Json {
  const prefix = prefixOf(signOutPath, routes)
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
function describeOtherSignIns(prefix: string, { all }: Routes): Json {
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

function toField(name: string, schema: Schema, required: boolean): Json {
  const { type, minLength, maxLength, pattern, enum: oneOf, description: help } = schema
  const [first = 'string'] = [type ?? 'string'].flat()
  const kind = first === 'number' ? 'float' : first
  const field = { name, kind, required, minLength, maxLength, pattern, oneOf, help }
  return Object.fromEntries(
    Object.entries(field).filter(([, value]) => value !== undefined && value !== false),
  )
}

function invalidLogin(message: string, fix: string): DeclarationError {
  return new DeclarationError([{ code: 'INVALID_OPTION', message, remedy: fix }])
}
