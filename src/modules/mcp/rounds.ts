/**
 * What a call that asks has been told so far, sealed for the client to bring back: who calls, what is called with which arguments, until
 * when, what was asked, and the answers of earlier rounds. Nothing is kept here, so any process may go on. AES-256-GCM with a key derived from the
 * application's.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Auth, Clock, type Claims } from '../../index.js'
import { isMembers, wrongParams, type Members } from './protocol.js'

/** Who asks for what: a state counts for the same alone. */
export interface Asking {
  readonly caller: Claims | null | undefined
  readonly method: string
  readonly name: string
  readonly given: Members
}

/** Where a call that asks has come to. */
export interface Told {
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
