/** `@BeforeWrite` and `@AfterCommit`: methods of a record that run when a row of it is written. Source: public face, Records. */
import type { Claims } from '../../http/request.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../../metadata/dialect.js'
import { createMemberNote, type Class } from '../../metadata/note.js'

/** What a hook receives besides the user. */
export interface RowWrite {
  readonly event: 'created' | 'updated'
}

/** The record's method: `this` is the whole row. */
export type WriteHook = (this: object, user: Claims | null, write: RowWrite) => void | Promise<void>

type Moment = 'before' | 'after'

const hookNotes = createMemberNote<readonly Moment[]>('write hooks')

/**
 * On a method of a record: runs in the transaction before a row is created or changed, by every door, including
 * `insertMany` and `updateWhere`. `this` is the whole row as it will be and may be changed; afterwards the rules are
 * checked. An HttpError refuses the write.
 *
 * ```ts
 * @BeforeWrite() setSlug(user: Claims | null) { this.slug = toSlug(this.name) }
 * ```
 *
 * The first argument is the claims of the current request's user, also in handlers that call a repository; null for
 * visitors, the static key and work without a request. The second is `{ event: 'created' | 'updated' }`.
 */
export const BeforeWrite = createHook('BeforeWrite', 'before')

/**
 * On a method of a record: runs once a created or changed row is committed, never after a rollback. `this` is the row
 * as stored; the arguments are those of `@BeforeWrite`. Its errors are logged.
 */
export const AfterCommit = createHook('AfterCommit', 'after')

/** Used with or without parentheses. */
interface HookDecorator {
  (): AnyDecorator
  (target: object, member: string | symbol, descriptor: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

export interface WriteHooks {
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** The hooks of a class by the names of their methods, those of the base class first; `undefined` if there are none. */
export function readWriteHooks(type: Class): WriteHooks | undefined {
  const notes = [...hookNotes.readAll(type)]
  if (notes.length === 0) return undefined
  const at = (moment: Moment): string[] =>
    notes.filter(([, moments]) => moments.includes(moment)).map(([member]) => member)
  return Object.freeze({ before: at('before'), after: at('after') })
}

function createHook(name: string, moment: Moment): HookDecorator {
  const write = ({ owner, member, place, isStatic }: DecoratorTarget): void => {
    if (member === undefined || place !== 'method' || isStatic)
      throw new TypeError(`@${name} on ${owner.name}: it can only be used on a method of a record.`)
    hookNotes.update(owner, member, (known = []) => [...known, moment])
  }
  return ((...args: unknown[]): AnyDecorator | undefined =>
    decorate(args, write) ? undefined : toDecorator(write)) as HookDecorator
}
