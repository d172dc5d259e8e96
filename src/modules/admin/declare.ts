/** The decorators of records on the admin page: `@Admin` and `@AdminAction`. */
import {
  createMetadata,
  declareOptions,
  option,
  type OptionsOf,
  type AnyDecorator,
  type Claims,
  type Repository,
  type Class,
} from '../../index.js'
import { recordHistory } from './change-history.js'
import type { FieldComponents } from './components.js'

export const adminRecordOptions = declareOptions({
  /** The field whose value names a row in links, pickers and messages. Default: `title`, `name`, `subject` or `label`, or else the key. */
  title: option.any<string>(),
  /** The columns of the list: fields and relations to one record, in order. Default: the first six fields. */
  list: option.of<readonly string[]>(
    (value) => Array.isArray(value) && value.length > 0,
    "Write a list of fields: ['subject'].",
  ),
  /** The name of one row: `'Sales order'`. Default: the class in words. */
  label: option.text(),
  /** The name of many rows, in the menu and above the list: `'Sales orders'`. Default: the record's plural in words. */
  plural: option.text(),
  /** The heading of the menu section that lists the record. */
  group: option.text(),
  /** A text above the list and the form. */
  help: option.text(),
  /** Components of the application for fields: `{ position: { cell: '/map-cell.js', input: '/map-input.js' } }`. */
  fields: option.any<Readonly<Record<string, FieldComponents>>>(),
  /** Records who changed what, in `AdminEntry`, for all writes. Default false. */
  history: option.flag(),
})

export interface AdminRecordOptions extends OptionsOf<typeof adminRecordOptions> {}

export const adminActionOptions = declareOptions({
  /** The text of the button. */
  label: option.text("Write label: 'Close'.").required(),
  /** Whether the action can run for several selected rows. Default false. */
  bulk: option.flag(),
  /** The class that describes the form of the action. */
  body: option.of<Class>(isClass, 'Write a class with @Field.'),
  /** Whether the action destroys something. Its button is red, and it asks before it runs. Default false. */
  danger: option.flag(),
})

export interface AdminActionOptions extends OptionsOf<typeof adminActionOptions> {}

/** The argument of a method with `@AdminAction`. `this` is the row. Changes of the row are stored. */
// Users write `ActionContext` or `ActionContext<Reason>`.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface ActionContext<Body = any> {
  /** The repository of a record, in the action's transaction, with the program's rights. */
  readonly records: <R extends object>(type: Class<R>) => Repository<R>
  /** The claims of the caller, or null for the operator's key. */
  readonly caller: Claims | null
  readonly by: 'token' | 'key'
  /** The validated values of the form, or undefined without a form. */
  readonly body: Body
  /** A provider of the application, by its class or token. */
  readonly get: <P>(token: Class<P> | string | symbol) => P
}

const optionsByType = new WeakMap<object, Readonly<AdminRecordOptions>>()

/**
 * Configures how the admin page shows a record, and whether its changes are recorded.
 *
 * ```ts
 * @Record({ version: true })
 * @Admin({ title: 'subject', list: ['subject', 'status', 'org'], group: 'Desk', history: true })
 * class Ticket { … }
 * ```
 */
export function Admin(options: AdminRecordOptions = {}): AnyDecorator {
  return ((type: unknown, member?: unknown): void => {
    const isMember = member !== undefined && (typeof member !== 'object' || !isClassContext(member))
    if (typeof type !== 'function' || isMember)
      throw new TypeError('@Admin can only be used on a class.')
    optionsByType.set(type, { ...options })
    if (options.history === true) recordHistory(type as Class)
  }) as AnyDecorator
}

/** Makes a method of a record a button of the admin page. */
export const AdminAction = createMetadata<[options: AdminActionOptions]>('AdminAction')

/** The options of `@Admin` on a record or its nearest base class. */
export function readAdmin(type: Class): Readonly<AdminRecordOptions> {
  for (
    let owner: unknown = type;
    typeof owner === 'function';
    owner = Object.getPrototypeOf(owner)
  ) {
    const options = optionsByType.get(owner)
    if (options !== undefined) return options
  }
  return {}
}

/** Whether the second argument is the context of a standard class decorator. */
function isClassContext(context: unknown): boolean {
  return (context as { kind?: unknown } | null)?.kind === 'class'
}

export function isClass(value: unknown): value is Class {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}
