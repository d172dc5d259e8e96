/**
 * The argument `toolCall` of a handler that an agent calls: `show(id: number, toolCall: ToolCall | null)`. It is null for calls by HTTP. If the handler asks
 * the client for input that has not arrived yet, the call ends, and the handler runs again from its beginning once the client
 * sends the response. Source: the specification of 2026-07-28, Multi Round-Trip Requests.
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
  type MessageExchange,
} from './protocol.js'

/** A state is valid only for the same caller and the same call. */
interface CallIdentity {
  readonly caller: Claims | null | undefined
  readonly method: string
  readonly name: string
  readonly input: JsonObject
}

/** The state of a call between two rounds. */
interface RoundState {
  /** Responses of earlier rounds, by name. */
  readonly responses: JsonObject
  /** The inputs requested in the last round. Other responses are ignored. */
  readonly requestNames: readonly string[]
}

const stateLifetimeMs = 15 * 60_000
const ivBytes = 12
const tagBytes = 16

/**
 * Seals the state of a call between two rounds: who calls what with which arguments, when the state expires, which inputs were requested,
 * and earlier responses. The client sends it back, so any process can continue. AES-256-GCM with a key derived from the application's.
 */
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

  /** @throws {ProtocolError} the state is invalid, expired, or of another caller or call */
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

  /** Without a key of the application, the process uses a random one. */
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

/** The error for an invalid state. */
export function invalidState(why: string): Error {
  return invalidParams(`Invalid requestState: it ${why}`)
}

type InstanceClass<T> = new (...args: never[]) => T

/** A request to a model, in the form of the protocol. */
export interface SampleOptions {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[]
  readonly maxTokens: number
  readonly [option: string]: unknown
}

/** A folder or URI that a client exposes. */
export interface Root {
  readonly uri: string
  readonly name?: string
}

/** The call of an agent, for its handler. */
export interface ToolCall {
  /** Aborts when the client leaves or cancels. */
  readonly signal: AbortSignal
  /** The capabilities of the client: `{ elicitation: {} }`. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /**
   * Reports progress if the client wants it. Increases of less than 0.1 % are skipped, so a loop may call this in each iteration.
   *
   * @param share from 0 to 1
   */
  progress(share: number, message?: string): void
  /**
   * Asks the user at the client. Ends this round unless the response has arrived.
   *
   * @param name of the request, the same each time the handler runs
   * @param type a class of simple fields, which checks the response
   * @returns null if the user declines
   */
  ask<T extends object>(name: string, type: InstanceClass<T>, message: string): Promise<T | null>
  /** Asks the model of the client, in the same way. */
  sample(name: string, options: SampleOptions): Promise<Readonly<Record<string, unknown>>>
  /** Asks which roots the client exposes, in the same way. */
  roots(name: string): Promise<readonly Root[]>
}

/** Stops a handler whose request has no response yet. Other code of the application sees an HttpError. */
class InputRequired extends HttpError {
  constructor(name: string) {
    super(inputRequiredStatus, 'A response of the client is required.', {
      reason: `mcp asks for ${name}`,
    })
  }
}

/** Precondition Required: the client repeats the call with its response. */
export const inputRequiredStatus = 428

/** The smallest reported increase. */
const minProgressStep = 0.001

/** A running call, with its requests to the client and the responses so far. */
export class ActiveToolCall implements ToolCall {
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Requests of this round, by name. */
  readonly inputRequests: Record<string, JsonObject> = {}
  /** Responses of all rounds, by name. */
  readonly responses: Record<string, unknown>
  /** Set if the client lacks a required capability. */
  refusal: ProtocolError | undefined
  readonly #exchange: MessageExchange<unknown>
  #share = -minProgressStep
  #signal: AbortSignal | undefined

  constructor(exchange: MessageExchange<unknown>, responses: JsonObject) {
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

  ask<T extends object>(name: string, type: InstanceClass<T>, message: string): Promise<T | null> {
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
   * Requests input if the client has the capability.
   *
   * @returns a rejected promise, so that several requests can be combined: `Promise.all([…])`
   */
  #requestInput(name: string, capability: string, inputRequest: JsonObject): Promise<never> {
    const { isModern, capabilities, revision } = this.#exchange
    if (!isModern)
      throw new HttpError(
        501,
        `This client cannot be asked for input: it uses revision ${clip(revision)}.`,
      )
    if (Object.hasOwn(capabilities, capability)) this.inputRequests[name] = inputRequest
    else
      this.refusal ??= new ProtocolError(codes.capability, `The client lacks ${capability}`, {
        status: 400,
        data: { requiredCapabilities: { [capability]: {} } },
      })
    return Promise.reject(new InputRequired(name))
  }
}

/**
 * Checks a response and ignores unknown fields. @returns undefined if it is invalid, so that it is requested again
 */
function readResponse<T extends object>(type: InstanceClass<T>, content: unknown): T | undefined {
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

/** Set on the internal request. */
export const toolCallOf = requestValue<ActiveToolCall>('tool call')
