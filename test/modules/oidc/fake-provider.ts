/** An OpenID provider whose responses a test can change, over real HTTP on loopback. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHash, createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'

interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: object
}

/** The query parameters of the authorization request. */
export interface AuthorizationQuery {
  readonly state: string
  readonly nonce: string
  readonly challenge: string
  readonly redirect: string
}

type RouteHandler = (response: ServerResponse, request: IncomingMessage) => void

/** Changes to the next responses. `reset` removes all of them. */
export interface Lies {
  metadata?: object
  claims?: object
  header?: object
  /** Signs with a key that is not published. */
  foreignKey?: boolean
  /** The complete ID token. */
  idToken?: string | undefined
  token?: RouteHandler
  discovery?: RouteHandler
  keys?: RouteHandler
}

export class LyingProvider {
  lies: Lies = {}
  /** The number of requests for each address. */
  readonly requestCounts: Record<string, number> = {}
  cacheControl = 'max-age=3600'
  /** Bodies of requests to the token endpoint. */
  readonly exchanges: { readonly body: URLSearchParams; readonly authorization: string }[] = []
  #keys: Key[] = [makeKey('one')]
  readonly #foreign = makeKey('one')
  readonly #codes = new Map<string, AuthorizationQuery & { readonly sub: string; used: boolean }>()
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy())
  })

  static async start(): Promise<LyingProvider> {
    const provider = new LyingProvider()
    provider.#server.listen(0, '127.0.0.1')
    await once(provider.#server, 'listening')
    return provider
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  reset(): void {
    this.lies = {}
  }

  /** Signs with a new key from now on. */
  rotate(kid: string): void {
    this.#keys = [makeKey(kid)]
  }

  /** The user consents. @returns the query of the callback */
  allow(page: string, sub = '7'): string {
    const query = this.read(page)
    const code = `code-${this.#codes.size}-${'x'.repeat(20)}`
    this.#codes.set(code, { ...query, sub, used: false })
    return `?${new URLSearchParams({ code, state: query.state, iss: this.issuer }).toString()}`
  }

  read(page: string): AuthorizationQuery {
    const query = new URL(page).searchParams
    const text = (name: string): string => query.get(name) ?? ''
    return {
      state: text('state'),
      nonce: text('nonce'),
      challenge: text('code_challenge'),
      redirect: text('redirect_uri'),
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.issuer).pathname
    this.requestCounts[path] = (this.requestCounts[path] ?? 0) + 1
    if (path === '/.well-known/openid-configuration') {
      if (this.lies.discovery !== undefined) this.lies.discovery(response, request)
      else this.#json(response, this.#metadata())
    } else if (path === '/jwks') {
      if (this.lies.keys !== undefined) this.lies.keys(response, request)
      else this.#json(response, { keys: this.#keys.map(({ jwk }) => jwk) })
    } else if (path === '/token') {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const body = new URLSearchParams(Buffer.concat(parts).toString())
      this.exchanges.push({ body, authorization: request.headers.authorization ?? '' })
      if (this.lies.token !== undefined) this.lies.token(response, request)
      else this.#exchange(body, response)
    } else if (path === '/userinfo') {
      this.#json(response, { sub: '7', email: 'Ada@Example.com', email_verified: true })
    } else {
      response.writeHead(404).end()
    }
  }

  #metadata(): object {
    const { issuer } = this
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      end_session_endpoint: `${issuer}/end`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ['RS256'],
      ...this.lies.metadata,
    }
  }

  #exchange(body: URLSearchParams, response: ServerResponse): void {
    const found = this.#codes.get(body.get('code') ?? '')
    const proof = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = found?.used === false && found.challenge === proof
    if (!isRight || body.get('redirect_uri') !== found.redirect) {
      this.#json(response, { error: 'invalid_grant' }, 400)
      return
    }
    found.used = true
    const id_token = this.lies.idToken ?? this.idToken({ sub: found.sub, nonce: found.nonce })
    this.#json(response, { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token })
  }

  /** An ID token with the changes of the test. */
  idToken(custom: object): string {
    const now = Math.floor(Date.now() / 1000)
    const [key] = this.#keys
    const { kid, privateKey } =
      this.lies.foreignKey === true ? this.#foreign : (key ?? this.#foreign)
    const header = { alg: 'RS256', kid, ...this.lies.header }
    const times = { iat: now, exp: now + 300 }
    const claims = { iss: this.issuer, aud: 'desk', ...times, ...custom, ...this.lies.claims }
    const content = `${encode(header)}.${encode(claims)}`
    switch (header.alg) {
      case 'none':
        return `${content}.`
      case 'HS256':
        // Signed with the public key as a secret, and with the client's secret.
        return `${content}.${createHmac('sha256', 'secret').update(content).digest('base64url')}`
      default:
        return `${content}.${sign('sha256', Buffer.from(content), privateKey).toString('base64url')}`
    }
  }

  #json(response: ServerResponse, value: object, status = 200): void {
    response.writeHead(status, {
      'content-type': 'application/json',
      'cache-control': this.cacheControl,
    })
    response.end(JSON.stringify(value))
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function makeKey(kid: string): Key {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
  return { kid, privateKey, jwk }
}
