/** The routes of passkeys (WebAuthn Level 3 §7). */
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
  type Class,
  type Reply,
} from '../../index.js'
import { algorithms, PasskeyVerifier } from './passkey-verifier.js'
import {
  Challenges,
  challengeLifetime,
  type Challenge,
  Decoys,
  type AllowedCredential,
} from './challenges.js'
import type { PasskeysSettings } from './options.js'
import { Passkey } from './passkey.js'

/** The application's provider with the methods of the options. */
type UserMethods = Readonly<Record<string, (argument: unknown) => unknown>>

class NewPasskey {
  /** A name that the owner chooses. */
  @Field('string', { optional: true, nullable: true, maxLength: 200 }) name?: string | null
}

class SignInName {
  /** The name of the user. Without a name, any passkey of this site is accepted. */
  @Field('string', { optional: true, nullable: true, maxLength: 200 }) name?: string | null
}

/** `credential.toJSON()` of the browser. */
class CredentialResponse {
  @Field('string', { minLength: 1, maxLength: 1400 }) id!: string
  @Field('string', { maxLength: 1400 }) rawId!: string
  @Field('string', { maxLength: 40 }) type!: string
  @Field('json') response!: unknown
  @Field('json', { optional: true }) clientExtensionResults?: unknown
  @Field('string', { optional: true, nullable: true, maxLength: 40 }) authenticatorAttachment?:
    string | null
}

/** Maximum number of passkeys of a user. All of them are sent at a sign-in by name. */
const maxPasskeys = 50

const bodies = { limit: '64kb', unknownKeys: 'drop' } as const
const tags = ['signing in']

export function passkeysController(settings: PasskeysSettings): Class {
  const { name: siteName, signIn, find, manage, credentials } = settings
  const SecuredForManagement = manage === undefined ? Secured() : Secured(manage)

  @Controller('/passkeys')
  @Doc({ tags })
  class PasskeyController {
    static readonly inject = [
      ...[Challenges, PasskeyVerifier, Decoys, Database, Clock, Auth, signIn[0]],
      ...(find === undefined ? [] : [find[0]]),
    ]

    constructor(
      private readonly challenges: Challenges,
      private readonly verifier: PasskeyVerifier,
      private readonly decoys: Decoys,
      private readonly database: Database,
      private readonly clock: Clock,
      private readonly auth: Auth,
      private readonly users: UserMethods,
      private readonly finders: UserMethods | null = null,
    ) {}

    @Get('/')
    @Secured
    @Doc({ description: 'Lists the passkeys of the caller.' })
    async list(user: Claims | null): Promise<object[]> {
      const stored = await this.passkeysOf(toSub(user))
      return stored.map(toPublic)
    }

    @Post('/register/options', { body: NewPasskey, ...bodies })
    @SecuredForManagement
    @Doc({ description: 'Returns the options for `navigator.credentials.create`, as JSON.' })
    async registerOptions(
      body: NewPasskey,
      request: HttpRequest,
      user: Claims | null,
    ): Promise<object> {
      this.checkSameSite(request)
      const sub = toSub(user)
      const stored = await this.passkeysOf(sub)
      checkPasskeyCount(stored)
      const label = toLabel(user, sub)
      const name = body.name ?? null
      return {
        rp: { name: siteName, id: this.verifier.rpId },
        user: { id: toHandle(sub), name: label, displayName: label },
        challenge: await this.challenges.make(request, { purpose: 'register', sub, name }),
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        timeout: challengeLifetime * 1000,
        excludeCredentials: stored.map(toAllowed),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        attestation: 'none',
        extensions: { credProps: true },
      }
    }

    @Post('/register/verify', { body: CredentialResponse, ...bodies })
    @SecuredForManagement
    @Doc({ description: 'Takes `credential.toJSON()` and stores the passkey.' })
    async register(
      body: CredentialResponse,
      request: HttpRequest,
      user: Claims | null,
    ): Promise<Reply> {
      this.checkSameSite(request)
      const sub = toSub(user)
      const { challengeText, challenge } = await this.take(request, body, 'register')
      if (challenge.sub !== sub) throw passkeyRefused('the challenge belongs to another user')
      const registered = await this.verifier
        .verifyRegistration(toResponse(body), challengeText)
        .catch(rethrowRefused)
      checkPasskeyCount(await this.passkeysOf(sub))
      const createdAt = this.now()
      const { name } = challenge
      const created = await this.records
        .create({
          ...registered,
          transports: [...registered.transports],
          sub,
          name,
          createdAt,
          lastUsed: null,
        })
        .catch((error: unknown) => {
          if (error instanceof HttpError && error.status === 409)
            throw passkeyRefused('the credential is already registered')
          throw error
        })
      return reply(toPublic(created), 201)
    }

    @Post('/signin/options', { body: SignInName, ...bodies })
    @NoAuth
    @Doc({ description: 'Returns the options for `navigator.credentials.get`, as JSON.' })
    async signInOptions(body: SignInName, request: HttpRequest): Promise<object> {
      this.checkSameSite(request)
      const name = body.name ?? ''
      const { sub, allowed } =
        name === '' ? { sub: null, allowed: [] } : await this.allowedFor(name)
      return {
        challenge: await this.challenges.make(request, { purpose: 'signin', sub, name: null }),
        timeout: challengeLifetime * 1000,
        rpId: this.verifier.rpId,
        allowCredentials: allowed,
        userVerification: 'required',
      }
    }

    @Post('/signin/verify', { body: CredentialResponse, ...bodies })
    @NoAuth
    @Doc({
      description: 'Takes `credential.toJSON()` and returns a token in the header FreshToken.',
    })
    async verify(body: CredentialResponse, request: HttpRequest): Promise<Reply> {
      this.checkSameSite(request)
      const { challengeText, challenge } = await this.take(request, body, 'signin')
      const [passkey] = await this.records.list({ where: { credential: body.id }, limit: 1 })
      // Verify first, so that the response time does not reveal whether the passkey exists.
      const counter = await this.verifier
        .verifySignIn(toResponse(body), challengeText, passkey ?? this.verifier.decoy)
        .catch(rethrowRefused)
      if (passkey === undefined) throw passkeyRefused('no user has this passkey')
      const { sub, credential } = passkey
      if (challenge.sub !== null && challenge.sub !== sub)
        throw passkeyRefused('the passkey does not belong to the named user')
      const handle = (body.response as { userHandle?: unknown } | null)?.userHandle
      if (typeof handle === 'string' && handle !== '' && handle !== toHandle(sub))
        throw passkeyRefused('the authenticator stores the passkey for another user')
      const claims = await this.database.transaction(async () => {
        // Accept only one of two responses with the same counter.
        const usedCount = await this.records.updateWhere(
          { id: passkey.id, counter: passkey.counter },
          { counter, lastUsed: this.now() },
        )
        if (usedCount !== 1) throw passkeyRefused('the passkey was used or removed meanwhile')
        return this.claimsFor(sub, credential)
      })
      const token = await this.auth.getToken(claims)
      return reply({ sub: claims.sub }).freshToken(token)
    }

    @Delete('/<id>')
    @SecuredForManagement
    @Doc({
      description:
        'Removes a passkey of the caller, by the id of the passkey or of its credential.',
    })
    async remove(id: string, request: HttpRequest, user: Claims | null): Promise<void> {
      this.checkSameSite(request)
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

    private passkeysOf(sub: string): Promise<Passkey[]> {
      return this.records.list({ where: { sub }, orderBy: { id: 'asc' }, limit: maxPasskeys })
    }

    private now(): string {
      return new Date(this.database.now(this.clock)).toISOString()
    }

    /** Runs the same steps for every name, so that the time does not reveal which names exist. */
    private async allowedFor(name: string): Promise<{ sub: string; allowed: AllowedCredential[] }> {
      const found = find === undefined ? name : await this.finders?.[find[1]]?.(name)
      // An empty `sub` matches no passkeys.
      const sub = typeof found === 'string' ? found : ''
      const [stored, decoys] = await Promise.all([this.passkeysOf(sub), this.decoys.forName(name)])
      return { sub, allowed: stored.length > 0 ? stored.map(toAllowed) : decoys }
    }

    private async claimsFor(sub: string, credential: string): Promise<Claims> {
      const claims: unknown = await this.users[signIn[1]]?.({ sub, credential })
      if (claims === null)
        throw new HttpError(403, 'This account may not sign in here.', {
          code: 'SIGN_IN_REFUSED',
          reason: `${signIn[1]} returned null`,
        })
      const { sub: claimedSub } = (claims ?? {}) as { sub?: unknown }
      if (typeof claimedSub !== 'string' || claimedSub === '')
        throw new TypeError(
          `passkeys: ${signIn[1]} returned no claims. Return { sub: String(user.id) }, or null to refuse.`,
        )
      // The user has just authenticated with a verified passkey.
      return { ...(claims as Claims), auth_time: undefined, amr: ['hwk', 'user', 'mfa'] }
    }

    /** Takes the challenge of a response, even if the response turns out to be invalid. */
    private async take(
      request: HttpRequest,
      { response }: CredentialResponse,
      purpose: Challenge['purpose'],
    ): Promise<{ challengeText: string; challenge: Challenge }> {
      const challengeText = readChallenge(response)
      const challenge = await this.challenges.take(request, challengeText, purpose)
      if (challenge === null)
        throw passkeyRefused('the challenge was used, has expired, or belongs to another browser')
      return { challengeText, challenge }
    }

    /** Accepts only JSON, which forms of other sites cannot send, and only from pages at the public URL. */
    private checkSameSite(request: HttpRequest): void {
      const { method, headers } = request
      const { origin, 'content-type': type = '', 'sec-fetch-site': siteName } = headers
      if (method === 'POST' && !/^application\/json\s*(?:;|$)/i.test(type))
        throw new HttpError(415, 'Send application/json.', {
          headers: { accept: 'application/json' },
        })
      const isForeign = origin !== undefined && origin !== this.verifier.origin
      if (isForeign || (siteName !== undefined && siteName !== 'same-origin'))
        throw new HttpError(403, 'Forbidden', {
          reason: `the page is not at the public address ${this.verifier.origin}`,
        })
    }
  }

  return PasskeyController
}

/** @throws {HttpError} 403 for the operator's key, which has no user */
function toSub(user: Claims | null): string {
  const sub = user?.sub
  if (typeof sub === 'string' && sub !== '') return sub
  throw new HttpError(403, 'Forbidden', { reason: 'a passkey belongs to the sub of a token' })
}

function checkPasskeyCount(stored: readonly Passkey[]): void {
  if (stored.length >= maxPasskeys)
    throw new HttpError(409, `You have ${maxPasskeys} passkeys. Remove one first.`)
}

/** The user handle for authenticators. It is constant and does not contain the name. */
function toHandle(sub: string): string {
  return createHash('sha256').update(`passkey of ${sub}`, 'utf8').digest('base64url')
}

/** The user name that the browser shows with the passkey. */
function toLabel(user: Claims | null, sub: string): string {
  const { name, email, preferred_username: username } = (user ?? {}) as Record<string, unknown>
  const label = [name, username, email].find((text) => typeof text === 'string' && text !== '')
  return ((label as string | undefined) ?? sub).slice(0, 64)
}

function toAllowed({ credential, transports }: Passkey): AllowedCredential {
  return { type: 'public-key', id: credential, transports }
}

function toPublic({ id, credential, name, transports, createdAt, lastUsed }: Passkey): object {
  return { id, credential, name, transports, createdAt, lastUsed }
}

function toResponse({
  id,
  rawId,
  type,
  response,
  clientExtensionResults,
}: CredentialResponse): object {
  return { id, rawId, type, response, clientExtensionResults: clientExtensionResults ?? {} }
}

/** @returns the challenge, or an empty string, which is never valid */
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

/** The same error for every invalid passkey. Only the log contains the reason. */
function passkeyRefused(reason: string): HttpError {
  return new HttpError(401, 'This passkey was not accepted.', { code: 'PASSKEY_REFUSED', reason })
}

function rethrowRefused(error: unknown): never {
  throw passkeyRefused(error instanceof Error ? error.message : String(error))
}
