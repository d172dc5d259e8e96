/**
 * What a handler knows of the call of an agent: `show(id: number, toolCall: ToolCall | null)`; null where it is called by HTTP.
 * Questions end the round: `ask` gives the answer where it is there already, and otherwise stops the handler, which runs again,
 * from its beginning, when the client sends it. Source: the specification of 2026-07-28, Multi Round-Trip Requests.
 */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import {
  Auth,
  Clock,
  type Claims,
  checkOf,
  clip,
  HttpError,
  requestValue,
  schemaOf,
} from '../../index.js'
import {
  isJsonObject,
  invalidParams,
  type JsonObject,
  codes,
  ProtocolError,
  type Exchange,
} from './protocol.js'

/**
 * What a call that asks has been told so far, sealed for the client to bring back: who calls, what is called with which arguments, until
 * when, what was asked, and the answers of earlier rounds. Nothing is kept here, so any process may go on. AES-256-GCM with a key derived from the
 * application's.
 */

/** Who asks for what: a state counts for the same alone. */
interface CallIdentity {
  readonly caller: Claims | null | undefined
  readonly method: string
  readonly name: string
  readonly input: JsonObject
}

/** Where a call that asks has come to. */
interface RoundState {
  /** Of earlier rounds, by the names of their questions. */
  readonly responses: JsonObject
  /** The names of what was asked at last: nothing else can be answered. */
  readonly requestNames: readonly string[]
}

const stateLifetimeMs = 15 * 60_000
const ivBytes = 12
const tagBytes = 16

export class RoundStates {
  static readonly inject = [Auth, Clock]
  #key: Promise<Buffer> | undefined

  constructor(
    private readonly auth: Auth,
    private readonly clock: Clock,
  ) {}

  async seal(identity: CallIdentity, { responses, requestNames }: RoundState): Promise<string> {
    const expiresAt = this.clock.now() + stateLifetimeMs
    const text = JSON.stringify({ call: digest(identity), expiresAt, responses, requestNames })
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', await this.#secret(), iv)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** @throws {ProtocolError} for a state that is not ours, of another caller or call, or run out */
  async open(state: string, identity: CallIdentity): Promise<RoundState> {
    const opened = await this.#read(state)
    if (opened === undefined || opened.call !== digest(identity))
      throw invalidState('is not of this call')
    if (typeof opened.expiresAt !== 'number' || opened.expiresAt < this.clock.now())
      throw invalidState('has run out')
    const { responses, requestNames } = opened
    return {
      responses: isJsonObject(responses) ? responses : {},
      requestNames: Array.isArray(requestNames) ? (requestNames as string[]) : [],
    }
  }

  async #read(state: string): Promise<JsonObject | undefined> {
    try {
      const bytes = Buffer.from(state, 'base64url')
      if (bytes.length < ivBytes + tagBytes) return undefined
      const iv = bytes.subarray(0, ivBytes)
      const decipher = createDecipheriv('aes-256-gcm', await this.#secret(), iv)
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      const text = decipher.update(bytes.subarray(ivBytes + tagBytes))
      const value: unknown = JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8'))
      return isJsonObject(value) ? value : undefined
    } catch {
      return undefined
    }
  }

  /** Where there is no key of the application's, this process has one of its own. */
  #secret(): Promise<Buffer> {
    this.#key ??= this.auth.secretFor('mcp rounds').catch(() => randomBytes(32))
    return this.#key
  }
}

function digest({ caller, method, name, input }: CallIdentity): string {
  const callerKey = caller === undefined ? null : caller === null ? 'key' : [caller.iss, caller.sub]
  const text = JSON.stringify([callerKey, method, name, input])
  return createHash('sha256').update(text).digest('base64url')
}

/** A state that is not what it should be. */
export function invalidState(why: string): Error {
  return invalidParams(`Invalid requestState: it ${why}`)
}

type Class<T> = new (...args: never[]) => T

/** A question for a model, as the protocol writes it. */
export interface SampleOptions {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[]
  readonly maxTokens: number
  readonly [option: string]: unknown
}

/** A place that a client shows to the server. */
export interface Root {
  readonly uri: string
  readonly name?: string
}

/** The call of an agent, as its handler sees it. */
export interface ToolCall {
  /** Aborts when the client leaves or cancels. */
  readonly signal: AbortSignal
  /** What the client can do: `{ elicitation: {} }`. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /**
   * Tells how far it is; nothing where nobody wants to know. Shares that rise by less than a thousandth are passed over, so
   * that a loop may tell each of its turns.
   *
   * @param share from 0 to 1
   */
  progress(share: number, message?: string): void
  /**
   * Asks the person at the client. Ends this round unless the answer is there.
   *
   * @param name of the question: the same each time the handler runs
   * @param type a class of plain fields, which the answer is checked by
   * @returns null where the person says no
   */
  ask<T extends object>(name: string, type: Class<T>, message: string): Promise<T | null>
  /** Asks the model of the client, likewise. */
  sample(name: string, options: SampleOptions): Promise<Readonly<Record<string, unknown>>>
  /** Asks which places the client shows, likewise. */
  roots(name: string): Promise<readonly Root[]>
}

/** Stops a handler whose question is not answered. The program's other code sees an HttpError. */
class InputRequired extends HttpError {
  constructor(name: string) {
    super(inputRequiredStatus, 'An answer of the client is needed.', {
      reason: `mcp asks for ${name}`,
    })
  }
}

/** Precondition Required: the call is made again with the answer. */
export const inputRequiredStatus = 428

/** What a share has to rise by to be told. */
const minProgressStep = 0.001

/** A call while it runs: what it asks, and what is answered already. */
export class ActiveToolCall implements ToolCall {
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Questions of this round, by name. */
  readonly inputRequests: Record<string, JsonObject> = {}
  /** Answers of all rounds that were asked for, by name. */
  readonly responses: Record<string, unknown>
  /** What the client would have to be able to do. */
  refusal: ProtocolError | undefined
  readonly #exchange: Exchange<unknown>
  #share = -minProgressStep
  #signal: AbortSignal | undefined

  constructor(exchange: Exchange<unknown>, responses: JsonObject) {
    this.#exchange = exchange
    this.capabilities = exchange.capabilities
    this.responses = { ...responses }
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#exchange.signal ?? new AbortController().signal)
  }

  progress(share: number, message?: string): void {
    const { progressToken } = this.#exchange
    const progress = Math.min(1, share)
    const isFurther = progress - this.#share >= (progress < 1 ? minProgressStep : Number.MIN_VALUE)
    if (progressToken === undefined || !isFurther) return
    this.#share = progress
    const notification = { progressToken, progress, total: 1, message }
    this.#exchange.notify('notifications/progress', notification)
  }

  ask<T extends object>(name: string, type: Class<T>, message: string): Promise<T | null> {
    const response = this.#responseTo(name)
    if (isJsonObject(response) && (response.action === 'decline' || response.action === 'cancel'))
      return Promise.resolve(null)
    const isAccepted = isJsonObject(response) && response.action === 'accept'
    const checked = isAccepted ? readResponse(type, response.content) : undefined
    if (checked !== undefined) return Promise.resolve(checked)
    const { type: kind, properties, required = [] } = schemaOf(type)
    const requestedSchema = { type: kind, properties, required }
    const params = { mode: 'form', message, requestedSchema }
    return this.#requestInput(name, 'elicitation', { method: 'elicitation/create', params })
  }

  sample(name: string, options: SampleOptions): Promise<Readonly<Record<string, unknown>>> {
    const response = this.#responseTo(name)
    if (isJsonObject(response) && response.content !== undefined) return Promise.resolve(response)
    return this.#requestInput(name, 'sampling', {
      method: 'sampling/createMessage',
      params: options,
    })
  }

  roots(name: string): Promise<readonly Root[]> {
    const response = this.#responseTo(name)
    if (isJsonObject(response) && Array.isArray(response.roots))
      return Promise.resolve(response.roots as readonly Root[])
    return this.#requestInput(name, 'roots', { method: 'roots/list' })
  }

  #responseTo(name: string): unknown {
    return Object.hasOwn(this.responses, name) ? this.responses[name] : undefined
  }

  /**
   * Nothing is asked that the client did not say it can answer.
   *
   * @returns what rejects: several may be asked at once, `Promise.all([…])`
   */
  #requestInput(name: string, capability: string, inputRequest: JsonObject): Promise<never> {
    const { isModern, capabilities, revision } = this.#exchange
    if (!isModern)
      throw new HttpError(501, `This client cannot be asked: it speaks ${clip(revision)}.`)
    if (Object.hasOwn(capabilities, capability)) this.inputRequests[name] = inputRequest
    else
      this.refusal ??= new ProtocolError(codes.capability, `The client lacks ${capability}`, {
        status: 400,
        data: { requiredCapabilities: { [capability]: {} } },
      })
    return Promise.reject(new InputRequired(name))
  }
}

/** What is not asked for is passed over. @returns undefined for what is no answer: it is asked again */
function readResponse<T extends object>(type: Class<T>, content: unknown): T | undefined {
  try {
    const { properties = {} } = schemaOf(type)
    const declaredFields = Object.entries(isJsonObject(content) ? content : {}).filter(([name]) =>
      Object.hasOwn(properties, name),
    )
    return checkOf(type)(Object.fromEntries(declaredFields)) as T
  } catch {
    return undefined
  }
}

/** Of the request within. */
export const toolCallOf = requestValue<ActiveToolCall>('tool call')
