/** The routes of passkeys. Source: decisions, Sign-in; WebAuthn Level 3 §7. */
import { createHash } from 'node:crypto'
import {
  Auth,
  Clock,
  Controller,
  Database,
  Delete,
  Doc,
  Field,
  Get,
  HttpError,
  NoAuth,
  Post,
  reply,
  Secured,
  type Claims,
  type HttpRequest,
  type ModuleOptions,
  type Reply,
} from '../../index.js'
import { algorithms, Ceremony } from './ceremony.js'
import { Challenges, challengeLife, type Challenge } from './challenges.js'
import { Decoys, type AllowedCredential } from './decoys.js'
import type { PasskeysOptions } from './options.js'
import { Passkey } from './passkey.js'

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

/** A provider of the application. */
type Users = Readonly<Record<string, (argument: unknown) => unknown>>

class NewPasskey {
  /** What its owner calls it. */
  @Field('string', { optional: true, nullable: true, maxLength: 200 }) name?: string | null
}

class Somebody {
  /** Who signs in; without one any passkey of this site is asked for. */
  @Field('string', { optional: true, nullable: true, maxLength: 200 }) name?: string | null
}

/** `credential.toJSON()` of the browser. */
class Answer {
  @Field('string', { minLength: 1, maxLength: 1400 }) id!: string
  @Field('string', { maxLength: 1400 }) rawId!: string
  @Field('string', { maxLength: 40 }) type!: string
  @Field('json') response!: unknown
  @Field('json', { optional: true }) clientExtensionResults?: unknown
  @Field('string', { optional: true, nullable: true, maxLength: 40 }) authenticatorAttachment?:
    string | null
}

/** The most passkeys of one person: all of them are sent at each sign-in by name. */
const mostPasskeys = 50

const bodies = { limit: '64kb', unknownKeys: 'drop' } as const
const tags = ['signing in']

export function passkeysController(options: PasskeysOptions): ControllerClass {
  const { name: site, signIn, find, manage, credentials = Passkey } = options
  const Managing = manage === undefined ? Secured() : Secured(manage)

  @Controller('/passkeys')
  @Doc({ tags })
  class PasskeyController {
    static readonly inject = [
      ...[Challenges, Ceremony, Decoys, Database, Clock, Auth, signIn[0]],
      ...(find === undefined ? [] : [find[0]]),
    ]

    constructor(
      private readonly challenges: Challenges,
      private readonly ceremony: Ceremony,
      private readonly decoys: Decoys,
      private readonly database: Database,
      private readonly clock: Clock,
      private readonly auth: Auth,
      private readonly users: Users,
      private readonly finders?: Users,
    ) {}

    @Get('/')
    @Secured
    @Doc({ description: "One's own passkeys." })
    async list(user: Claims | null): Promise<object[]> {
      const own = await this.of(toSub(user))
      return own.map(toShown)
    }

    @Post('/register/options', { body: NewPasskey, ...bodies })
    @Managing
    @Doc({ description: 'What `navigator.credentials.create` needs, as JSON of the browser.' })
    async registerOptions(
      body: NewPasskey,
      request: HttpRequest,
      user: Claims | null,
    ): Promise<object> {
      this.refuseForeign(request)
      const sub = toSub(user)
      const own = await this.of(sub)
      refuseMore(own)
      const label = toLabel(user, sub)
      const name = body.name ?? null
      return {
        rp: { name: site, id: this.ceremony.rpId },
        user: { id: toHandle(sub), name: label, displayName: label },
        challenge: await this.challenges.make(request, { purpose: 'register', sub, name }),
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        timeout: challengeLife * 1000,
        excludeCredentials: own.map(toAllowed),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        attestation: 'none',
        extensions: { credProps: true },
      }
    }

    @Post('/register/verify', { body: Answer, ...bodies })
    @Managing
    @Doc({ description: 'Takes `credential.toJSON()` and keeps the passkey.' })
    async register(body: Answer, request: HttpRequest, user: Claims | null): Promise<Reply> {
      this.refuseForeign(request)
      const sub = toSub(user)
      const { given, challenge } = await this.take(request, body, 'register')
      if (challenge.sub !== sub) throw refused('the challenge is of another user')
      const found = await this.ceremony.readNew(toResponse(body), given).catch(refuse)
      refuseMore(await this.of(sub))
      const createdAt = this.now()
      const { name } = challenge
      const made = await this.records
        .create({
          ...found,
          transports: [...found.transports],
          sub,
          name,
          createdAt,
          lastUsed: null,
        })
        .catch((error: unknown) => {
          if (error instanceof HttpError && error.status === 409)
            throw refused('the credential is registered already')
          throw error
        })
      return reply(toShown(made), 201)
    }

    @Post('/signin/options', { body: Somebody, ...bodies })
    @NoAuth
    @Doc({ description: 'What `navigator.credentials.get` needs, as JSON of the browser.' })
    async signInOptions(body: Somebody, request: HttpRequest): Promise<object> {
      this.refuseForeign(request)
      const name = body.name ?? ''
      const { sub, allowed } =
        name === '' ? { sub: null, allowed: [] } : await this.allowedFor(name)
      return {
        challenge: await this.challenges.make(request, { purpose: 'signin', sub, name: null }),
        timeout: challengeLife * 1000,
        rpId: this.ceremony.rpId,
        allowCredentials: allowed,
        userVerification: 'required',
      }
    }

    @Post('/signin/verify', { body: Answer, ...bodies })
    @NoAuth
    @Doc({ description: 'Takes `credential.toJSON()` and answers with a token in FreshToken.' })
    async verify(body: Answer, request: HttpRequest): Promise<Reply> {
      this.refuseForeign(request)
      const { given, challenge } = await this.take(request, body, 'signin')
      const [passkey] = await this.records.list({ where: { credential: body.id }, limit: 1 })
      // First, so that the time does not tell whether somebody has this passkey.
      const counter = await this.ceremony
        .readUse(toResponse(body), given, passkey ?? this.ceremony.nobody)
        .catch(refuse)
      if (passkey === undefined) throw refused('nobody has this passkey')
      const { sub, credential } = passkey
      if (challenge.sub !== null && challenge.sub !== sub)
        throw refused('the passkey is not of who was named')
      const handle = (body.response as { userHandle?: unknown } | null)?.userHandle
      if (typeof handle === 'string' && handle !== '' && handle !== toHandle(sub))
        throw refused('the authenticator knows another user by this passkey')
      const claims = await this.database.transaction(async () => {
        // Of two answers that were made with one counter, only one counts.
        const used = await this.records.updateWhere(
          { id: passkey.id, counter: passkey.counter },
          { counter, lastUsed: this.now() },
        )
        if (used !== 1) throw refused('the passkey was used or removed meanwhile')
        return this.claimsFor(sub, credential)
      })
      const token = await this.auth.getToken(claims)
      return reply({ sub: claims.sub }).freshToken(token)
    }

    @Delete('/<id>')
    @Managing
    @Doc({ description: "Removes one of one's own, by its id or that of its credential." })
    async remove(id: string, request: HttpRequest, user: Claims | null): Promise<void> {
      this.refuseForeign(request)
      const sub = toSub(user)
      const isNumber = /^[1-9]\d{0,14}$/.test(id)
      const removed = await this.records.deleteWhere({
        sub,
        ...(isNumber ? { id: Number(id) } : { credential: id }),
      })
      if (removed === 0)
        throw new HttpError(404, undefined, { reason: 'the caller has no such passkey' })
    }

    private get records() {
      return this.database.records(credentials)
    }

    private of(sub: string): Promise<Passkey[]> {
      return this.records.list({ where: { sub }, orderBy: { id: 'asc' }, limit: mostPasskeys })
    }

    private now(): string {
      return new Date(this.database.now(this.clock)).toISOString()
    }

    /** The same steps for every name, whoever it is. */
    private async allowedFor(name: string): Promise<{ sub: string; allowed: AllowedCredential[] }> {
      const found = find === undefined ? name : await this.finders?.[find[1]]?.(name)
      // No `sub` is empty, so that nobody's passkeys are found.
      const sub = typeof found === 'string' ? found : ''
      const [own, decoys] = await Promise.all([this.of(sub), this.decoys.forName(name)])
      return { sub, allowed: own.length > 0 ? own.map(toAllowed) : decoys }
    }

    private async claimsFor(sub: string, credential: string): Promise<Claims> {
      const claims: unknown = await this.users[signIn[1]]?.({ sub, credential })
      if (claims === null)
        throw new HttpError(403, 'This account may not sign in here.', {
          code: 'SIGN_IN_REFUSED',
          reason: `${signIn[1]} gave null`,
        })
      const { sub: given } = (claims ?? {}) as { sub?: unknown }
      if (typeof given !== 'string' || given === '')
        throw new TypeError(
          `passkeys: ${signIn[1]} gave no claims. Return { sub: String(user.id) }, or null to refuse.`,
        )
      // Signed in now, and by what the passkey has shown.
      return { ...(claims as Claims), auth_time: undefined, amr: ['hwk', 'user', 'mfa'] }
    }

    /** The challenge of an answer, which is taken whatever becomes of the answer. */
    private async take(
      request: HttpRequest,
      { response }: Answer,
      purpose: Challenge['purpose'],
    ): Promise<{ given: string; challenge: Challenge }> {
      const given = readChallenge(response)
      const challenge = await this.challenges.take(request, given, purpose)
      if (challenge === null)
        throw refused("the challenge was used, has run out, or is another browser's")
      return { given, challenge }
    }

    /** Only JSON, which no form of another site can send, and only from pages at the public address. */
    private refuseForeign(request: HttpRequest): void {
      const { method, headers } = request
      const { origin, 'content-type': type = '', 'sec-fetch-site': site } = headers
      if (method === 'POST' && !/^application\/json\s*(?:;|$)/i.test(type))
        throw new HttpError(415, 'Send application/json.', {
          headers: { accept: 'application/json' },
        })
      const isForeign = origin !== undefined && origin !== this.ceremony.origin
      if (isForeign || (site !== undefined && site !== 'same-origin'))
        throw new HttpError(403, 'Forbidden', {
          reason: `the page is not at the public address ${this.ceremony.origin}`,
        })
    }
  }

  return PasskeyController
}

/** @throws {HttpError} 403 for the operator's key, who is nobody */
function toSub(user: Claims | null): string {
  const sub = user?.sub
  if (typeof sub === 'string' && sub !== '') return sub
  throw new HttpError(403, 'Forbidden', { reason: 'a passkey belongs to the sub of a token' })
}

function refuseMore(own: readonly Passkey[]): void {
  if (own.length >= mostPasskeys)
    throw new HttpError(409, `You have ${mostPasskeys} passkeys. Remove one first.`)
}

/** What authenticators keep of a user: no name, and the same each time. */
function toHandle(sub: string): string {
  return createHash('sha256').update(`passkey of ${sub}`, 'utf8').digest('base64url')
}

/** What the browser shows beside the passkey. */
function toLabel(user: Claims | null, sub: string): string {
  const { name, email, preferred_username: username } = (user ?? {}) as Record<string, unknown>
  const label = [name, username, email].find((text) => typeof text === 'string' && text !== '')
  return ((label as string | undefined) ?? sub).slice(0, 64)
}

function toAllowed({ credential, transports }: Passkey): AllowedCredential {
  return { type: 'public-key', id: credential, transports }
}

function toShown({ id, credential, name, transports, createdAt, lastUsed }: Passkey): object {
  return { id, credential, name, transports, createdAt, lastUsed }
}

function toResponse({ id, rawId, type, response, clientExtensionResults }: Answer): object {
  return { id, rawId, type, response, clientExtensionResults: clientExtensionResults ?? {} }
}

/** @returns an empty text where there is none, which is no challenge */
function readChallenge(response: unknown): string {
  const { clientDataJSON } = (response ?? {}) as { clientDataJSON?: unknown }
  if (typeof clientDataJSON !== 'string') return ''
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))
    const { challenge } = (data ?? {}) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : ''
  } catch {
    return ''
  }
}

/** The same for all that is wrong with a passkey; the log has the reason. */
function refused(reason: string): HttpError {
  return new HttpError(401, 'This passkey was not accepted.', { code: 'PASSKEY_REFUSED', reason })
}

function refuse(error: unknown): never {
  throw refused(error instanceof Error ? error.message : String(error))
}
