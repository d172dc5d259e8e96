/** The settings of an application for all its requests. */
import type { Log } from '../core/log.js'
import type { CookieNames } from './cookie-names.js'
import type { Cors } from './cors.js'
import type { Ending } from './ending.js'

export interface RequestSettings {
  /** Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`, or the number of proxies to trust. Default false. */
  readonly trustProxy: boolean | number
  /** The log of `request.log`. Default: none. */
  readonly log?: Log
  /** The prefix of all paths, such as `/api`. Default none. */
  readonly basePath?: string
  /** The maximum bytes of the rows that one read of a client returns. Default: no limit. */
  readonly maxReadBytes?: number
  /** Whether fresh tokens of replies are set as a cookie too. Default false. */
  readonly tokenCookie?: boolean
  /** Default: the names without a suffix. */
  readonly cookieNames?: CookieNames
  /** Decides whether pages of another origin may send cookies. Default: they may not. */
  readonly cors?: Pick<Cors, 'allowsCredentials'>
  /** The public scheme, host and port, if configured. Default: as in the request. */
  readonly publicOrigin?: string | undefined
  /** Milliseconds since 1970, for rules that depend on the time. Default: the system clock. */
  readonly now?: () => number
  /** Aborts the signals of requests when the application closes. Default: they are not aborted. */
  readonly ending?: Ending
}
