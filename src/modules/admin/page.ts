/** The public routes of the page: HTML, assets, the description of the sign-in form, and the sign-out. */
import {
  Auth,
  Controller,
  Get,
  NoAuth,
  Post,
  Routes,
  Secured,
  Undocumented,
  type Claims,
  type Interceptor,
  type Next,
  ApplicationState,
  type Session,
  html,
  HttpError,
  type HttpRequest,
  type Reply,
  type Class,
} from '../../index.js'
import { Assets } from './assets.js'
import { chooseLanguage, resolveLanguages, type PageLanguage } from './languages.js'
import { readLogin } from './login.js'
import type { AdminOptions } from './options.js'

/** Serves the page. It contains no data, so it is public. */
export function pageController(options: AdminOptions): Class {
  const { path } = options
  @Controller(path)
  @Undocumented
  @NoAuth
  class AdminPage {
    static readonly inject = [Routes, ApplicationState]
    readonly #languages = resolveLanguages(options)
    readonly #assets = new Assets(options, this.#languages)
    #login: object | undefined

    constructor(
      private readonly routes: Routes,
      private readonly state: ApplicationState,
    ) {}

    onStart(): void {
      this.#login = readLogin(options, this.routes).form
    }

    @Get('/')
    show(request: HttpRequest): Reply {
      return showPage(baseOf(request, path), options, {
        isPossiblySignedIn: mayBeSignedIn(request.headers, this.state.cookieName('token')),
        language: chooseLanguage(this.#languages, request.headers['accept-language']),
      })
    }

    @Get('/<rest:path>')
    view(rest: string, request: HttpRequest): Reply {
      if (/^(?:api|assets)(?:\/|$)/.test(rest)) throw new HttpError(404)
      return this.show(request)
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

export function signOutController({ path }: AdminOptions): Class {
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

/** What differs between visitors. */
interface PageVariant {
  readonly isPossiblySignedIn: boolean
  readonly language: PageLanguage
}

/** @param base the page's path, including the application's prefix */
function showPage(
  base: string,
  { path, title = 'Admin', logo, colour }: AdminOptions,
  { isPossiblySignedIn, language: { tag, direction, texts } }: PageVariant,
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
    `<link rel="modulepreload" href="${at}/assets/language.js">`,
    `<script type="module" src="${at}/assets/admin.js"></script>`,
  ]
  const data = [
    `data-path="${at}" data-prefix="${escape(prefix)}" data-title="${escape(title)}"`,
    ...(image === undefined ? [] : [`data-logo="${image}"`]),
    ...(isPossiblySignedIn ? ['data-may-be-signed-in=""'] : []),
  ]
  const text = `<!doctype html>
<html lang="${tag}" dir="${direction}"><head>${head.join('')}</head>
<body ${data.join(' ')}><noscript>${escape(texts.needsScript as string)}</noscript></body></html>
`
  return (
    html(text)
      .header('Content-Security-Policy', policy)
      .header('X-Frame-Options', 'DENY')
      .header('X-Content-Type-Options', 'nosniff')
      .header('Referrer-Policy', 'no-referrer')
      .header('Vary', 'Accept-Language')
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

/** The page's path in this request, including the application's base path. */
function baseOf({ path: requestPath }: HttpRequest, path: string): string {
  const at = `${requestPath}/`.indexOf(`${path}/`)
  return at === -1 ? path : requestPath.slice(0, at) + path
}
