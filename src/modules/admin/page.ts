/** The page and its files: they hold no data, so they are public. Source: specification, Admin page 11; CSP 3. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
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

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

/** The page, its files and its sign-in: public. */
export function pageController({ path, login }: AdminOptions): ControllerClass {
  @Controller(path)
  @Undocumented
  @NoAuth
  class AdminPage {
    static readonly inject = [Routes]
    readonly #assets = new Assets()
    #login: object | undefined

    constructor(private readonly routes: Routes) {}

    onStart(): void {
      this.#login = describeLogin(login, `${path}/api/sign-out`, this.routes)
    }

    @Get('/')
    show(request: HttpRequest): Reply {
      return showPage(baseOf(request, path))
    }

    @Get('/<rest:path>')
    view(rest: string, request: HttpRequest): Reply {
      if (/^(?:api|assets)(?:\/|$)/.test(rest)) throw new HttpError(404)
      return showPage(baseOf(request, path))
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

/** What belongs to a caller is kept nowhere: who signs out leaves nothing behind. */
export class KeptNowhere implements Interceptor {
  static readonly before = 'gate'

  async intercept(_request: HttpRequest, next: Next): Promise<unknown> {
    const answer = await next()
    if (answer.headers.get('Cache-Control') === undefined || answer.status >= 400)
      answer.headers.set('Cache-Control', 'no-store')
    return answer
  }
}

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["img-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

/** @param base the page's path with all that stands before it */
function showPage(base: string): Reply<string> {
  const at = escape(base)
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Admin</title><link rel="stylesheet" href="${at}/assets/admin.css"><script type="module" src="${at}/assets/admin.js"></script></head>
<body data-path="${at}"><noscript>This page needs JavaScript.</noscript></body></html>
`
  return (
    html(text)
      .header('Content-Security-Policy', policy)
      .header('X-Frame-Options', 'DENY')
      .header('X-Content-Type-Options', 'nosniff')
      .header('Referrer-Policy', 'no-referrer')
      // Else the browser would bring back what it showed before a sign-out.
      .header('Cache-Control', 'no-store')
  )
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const types = {
  'admin.js': 'text/javascript; charset=utf-8',
  'admin.css': 'text/css; charset=utf-8',
} as const

type AssetName = keyof typeof types

interface Asset {
  readonly text: string
  readonly tag: string
}

class Assets {
  #files: Promise<ReadonlyMap<string, Asset>> | undefined

  /** @throws {HttpError} 404 for other names */
  async show(name: string, { headers }: HttpRequest): Promise<Reply> {
    const asset = Object.hasOwn(types, name) ? (await this.#all()).get(name) : undefined
    if (asset === undefined) throw new HttpError(404)
    const { text, tag } = asset
    const known = matchesEntityTag(headers['if-none-match'], tag)
    const answer = known ? reply(null, 304) : reply(text).type(types[name as AssetName])
    return answer
      .header('ETag', tag)
      .header('Cache-Control', 'no-cache')
      .header('X-Content-Type-Options', 'nosniff')
  }

  #all(): Promise<ReadonlyMap<string, Asset>> {
    this.#files ??= readFiles().catch((error: unknown) => {
      this.#files = undefined
      throw error
    })
    return this.#files
  }
}

async function readFiles(): Promise<ReadonlyMap<string, Asset>> {
  const source = fileURLToPath(new URL('../../../client/admin/build.mjs', import.meta.url))
  if (!import.meta.url.endsWith('.ts') || !existsSync(source)) {
    return readFolder(fileURLToPath(new URL('../admin/', import.meta.url)))
  }
  const folder = await mkdtemp(join(tmpdir(), 'filigree-admin-'))
  try {
    // In a process of its own, because bundlers do not run inside a test's realm.
    await promisify(execFile)(process.execPath, [source, folder])
    return await readFolder(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function readFolder(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const files = Object.keys(types).map(async (name): Promise<[string, Asset]> => {
    const text = await readFile(join(folder, name), 'utf8')
    return [name, { text, tag: entityTag(text) }]
  })
  return new Map(await Promise.all(files))
}

/** What stands before the page's path is of the application's base path. */
function baseOf({ path: asked }: HttpRequest, path: string): string {
  const at = `${asked}/`.indexOf(`${path}/`)
  return at === -1 ? path : asked.slice(0, at) + path
}

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
function describeLogin({ path, signOut }: LoginOptions, own: string, routes: Routes): Json {
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
