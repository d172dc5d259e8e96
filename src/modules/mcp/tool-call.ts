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
  isMembers,
  wrongParams,
  type Members,
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
interface Asking {
  readonly caller: Claims | null | undefined
  readonly method: string
  readonly name: string
  readonly given: Members
}

/** Where a call that asks has come to. */
interface Told {
  /** Of earlier rounds, by the names of their questions. */
  readonly answers: Members
  /** The names of what was asked at last: nothing else can be answered. */
  readonly asked: readonly string[]
}

const life = 15 * 60_000
const startBytes = 12
const tagBytes = 16

export class Rounds {
  static readonly inject = [Auth, Clock]
  #key: Promise<Buffer> | undefined

  constructor(
    private readonly auth: Auth,
    private readonly clock: Clock,
  ) {}

  async seal(asking: Asking, { answers, asked }: Told): Promise<string> {
    const until = this.clock.now() + life
    const text = JSON.stringify({ of: digest(asking), until, answers, asked })
    const start = randomBytes(startBytes)
    const cipher = createCipheriv('aes-256-gcm', await this.#secret(), start)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([start, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** @throws {ProtocolError} for a state that is not ours, of another caller or call, or run out */
  async open(state: string, asking: Asking): Promise<Told> {
    const told = await this.#read(state)
    if (told === undefined || told.of !== digest(asking)) throw refused('is not of this call')
    if (typeof told.until !== 'number' || told.until < this.clock.now())
      throw refused('has run out')
    const { answers, asked } = told
    return {
      answers: isMembers(answers) ? answers : {},
      asked: Array.isArray(asked) ? (asked as string[]) : [],
    }
  }

  async #read(state: string): Promise<Members | undefined> {
    try {
      const bytes = Buffer.from(state, 'base64url')
      if (bytes.length < startBytes + tagBytes) return undefined
      const start = bytes.subarray(0, startBytes)
      const decipher = createDecipheriv('aes-256-gcm', await this.#secret(), start)
      decipher.setAuthTag(bytes.subarray(startBytes, startBytes + tagBytes))
      const text = decipher.update(bytes.subarray(startBytes + tagBytes))
      const told: unknown = JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8'))
      return isMembers(told) ? told : undefined
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

function digest({ caller, method, name, given }: Asking): string {
  const who = caller === undefined ? null : caller === null ? 'key' : [caller.iss, caller.sub]
  const text = JSON.stringify([who, method, name, given])
  return createHash('sha256').update(text).digest('base64url')
}

/** A state that is not what it should be. */
export function refused(why: string): Error {
  return wrongParams(`Invalid requestState: it ${why}`)
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
  progress(share: number, words?: string): void
  /**
   * Asks the person at the client. Ends this round unless the answer is there.
   *
   * @param name of the question: the same each time the handler runs
   * @param type a class of plain fields, which the answer is checked by
   * @returns null where the person says no
   */
  ask<T extends object>(name: string, type: Class<T>, words: string): Promise<T | null>
  /** Asks the model of the client, likewise. */
  sample(name: string, options: SampleOptions): Promise<Readonly<Record<string, unknown>>>
  /** Asks which places the client shows, likewise. */
  roots(name: string): Promise<readonly Root[]>
}

/** Stops a handler whose question is not answered. The program's other code sees an HttpError. */
class Unanswered extends HttpError {
  constructor(name: string) {
    super(unanswered, 'An answer of the client is needed.', { reason: `mcp asks for ${name}` })
  }
}

/** Precondition Required: the call is made again with the answer. */
export const unanswered = 428

/** What a share has to rise by to be told. */
const leastStep = 0.001

/** A call while it runs: what it asks, and what is answered already. */
export class Call implements ToolCall {
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Questions of this round, by name. */
  readonly asked: Record<string, Members> = {}
  /** Answers of all rounds that were asked for, by name. */
  readonly answers: Record<string, unknown>
  /** What the client would have to be able to do. */
  refusal: ProtocolError | undefined
  readonly #exchange: Exchange<unknown>
  #share = -leastStep
  #signal: AbortSignal | undefined

  constructor(exchange: Exchange<unknown>, answers: Members) {
    this.#exchange = exchange
    this.capabilities = exchange.capabilities
    this.answers = { ...answers }
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#exchange.signal ?? new AbortController().signal)
  }

  progress(share: number, words?: string): void {
    const { progressToken } = this.#exchange
    const progress = Math.min(1, share)
    const isFurther = progress - this.#share >= (progress < 1 ? leastStep : Number.MIN_VALUE)
    if (progressToken === undefined || !isFurther) return
    this.#share = progress
    const told = { progressToken, progress, total: 1, message: words }
    this.#exchange.notify('notifications/progress', told)
  }

  ask<T extends object>(name: string, type: Class<T>, words: string): Promise<T | null> {
    const given = this.#answerTo(name)
    if (isMembers(given) && (given.action === 'decline' || given.action === 'cancel'))
      return Promise.resolve(null)
    const accepted = isMembers(given) && given.action === 'accept'
    const checked = accepted ? readAnswer(type, given.content) : undefined
    if (checked !== undefined) return Promise.resolve(checked)
    const { type: kind, properties, required = [] } = schemaOf(type)
    const requestedSchema = { type: kind, properties, required }
    const params = { mode: 'form', message: words, requestedSchema }
    return this.#put(name, 'elicitation', { method: 'elicitation/create', params })
  }

  sample(name: string, options: SampleOptions): Promise<Readonly<Record<string, unknown>>> {
    const given = this.#answerTo(name)
    if (isMembers(given) && given.content !== undefined) return Promise.resolve(given)
    return this.#put(name, 'sampling', { method: 'sampling/createMessage', params: options })
  }

  roots(name: string): Promise<readonly Root[]> {
    const given = this.#answerTo(name)
    if (isMembers(given) && Array.isArray(given.roots))
      return Promise.resolve(given.roots as readonly Root[])
    return this.#put(name, 'roots', { method: 'roots/list' })
  }

  #answerTo(name: string): unknown {
    return Object.hasOwn(this.answers, name) ? this.answers[name] : undefined
  }

  /**
   * Nothing is asked that the client did not say it can answer.
   *
   * @returns what rejects: several may be asked at once, `Promise.all([…])`
   */
  #put(name: string, capability: string, question: Members): Promise<never> {
    const { isModern, capabilities, revision } = this.#exchange
    if (!isModern)
      throw new HttpError(501, `This client cannot be asked: it speaks ${clip(revision)}.`)
    if (Object.hasOwn(capabilities, capability)) this.asked[name] = question
    else
      this.refusal ??= new ProtocolError(codes.capability, `The client lacks ${capability}`, {
        status: 400,
        data: { requiredCapabilities: { [capability]: {} } },
      })
    return Promise.reject(new Unanswered(name))
  }
}

/** What is not asked for is passed over. @returns undefined for what is no answer: it is asked again */
function readAnswer<T extends object>(type: Class<T>, content: unknown): T | undefined {
  try {
    const { properties = {} } = schemaOf(type)
    const known = Object.entries(isMembers(content) ? content : {}).filter(([name]) =>
      Object.hasOwn(properties, name),
    )
    return checkOf(type)(Object.fromEntries(known)) as T
  } catch {
    return undefined
  }
}

/** Of the request within. */
export const toolCallOf = requestValue<Call>('tool call')
