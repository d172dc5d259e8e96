/** `@Secured` and `@NoAuth`, on classes and methods. Source: specification, Authentication 5; decisions, Access to routes. */
import { isMap } from '../core/json.js'
import { readSeconds } from '../core/duration.js'
import type { Problem } from '../errors/declaration-error.js'
import { securedField } from '../fields/field.js'
import { rejectUnknownOptions } from '../errors/unknown-options.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import {
  createClassMetadata,
  createMemberMetadata,
  type Class,
} from '../metadata/class-metadata.js'
import { noAuthAccess, tokenAccess, type AccessNote, type Guard } from './access.js'

/** What a caller needs besides a valid token. At least one of `roles`, `fresh` and `amr`; all that is said is needed. */
export interface SecuredOptions {
  /** Any of them lets in, or with `all` only their holder in full. */
  readonly roles?: readonly string[]
  /** Every role is needed. Default false. */
  readonly all?: boolean
  /** The caller has signed in within this time, by the claim `auth_time`: `'10m'`, or seconds. */
  readonly fresh?: number | string
  /** The token's claim `amr` has this way of signing in, or one of several: `'mfa'` (RFC 8176). */
  readonly amr?: string | readonly string[]
}

/** What one decorator declares, with its faults. */
interface Saying {
  /** As written: `@Secured`. */
  readonly decorator: '@Secured' | '@NoAuth'
  readonly note: AccessNote
  /** Completes `ItemController.show: …`; undefined where nothing is wrong. */
  readonly fault: string | undefined
  /** The same for a handler: on a field of a record it may stand. */
  readonly misplaced?: string
}

const onClasses = createClassMetadata<readonly Saying[]>('access')
const onMethods = createMemberMetadata<readonly Saying[]>('access')
const ofRecords = createMemberMetadata<RecordAccess>('access of the record')

/** The rule of the record that a handler made for `crud` reads or writes. */
export interface RecordAccess {
  /** The record's name. */
  readonly record: string
  readonly rule: AccessNote
}

/**
 * A token is needed: any valid one (bare), one with any of the roles, or one for which the guard returns `true`. A
 * method's decorator replaces its class's, roles included.
 *
 * @example `@Secured`, `@Secured('admin', 'editor')`, `@Secured({ roles: ['admin', 'audit'], all: true })`,
 * `@Secured((claims, request) => claims?.sub === request.params.id)`, `@Secured({ fresh: '10m' })`, `@Secured({ amr: 'mfa' })`
 */
export function Secured(demand: Guard | SecuredOptions): AnyDecorator
export function Secured(...roles: string[]): AnyDecorator
export function Secured(target: Class): void
export function Secured(
  target: object,
  member: string | symbol,
  descriptor?: PropertyDescriptor,
): void
export function Secured(value: unknown, context: DecoratorContext): void
export function Secured(...args: unknown[]): AnyDecorator | undefined {
  const bare: Saying = { decorator: '@Secured', note: tokenAccess, fault: undefined }
  return sayBare(args, bare) ? undefined : toAccessDecorator(readSecured(args))
}

/** No token is needed; for writes such as an inbound webhook. Written with or without parentheses. */
export function NoAuth(): AnyDecorator
export function NoAuth(target: Class): void
export function NoAuth(
  target: object,
  member: string | symbol,
  descriptor?: PropertyDescriptor,
): void
export function NoAuth(value: unknown, context: DecoratorContext): void
export function NoAuth(...args: unknown[]): AnyDecorator | undefined {
  const bare: Saying = { decorator: '@NoAuth', note: noAuthAccess, fault: undefined }
  if (sayBare(args, bare)) return undefined
  const fault = args.length === 0 ? undefined : '@NoAuth takes no arguments.'
  return toAccessDecorator({ ...bare, fault })
}

/** Says of a handler that was made for `crud` what its record asks for; decorators of the controller add to it. */
export function noteRecordAccess(controller: Class, member: string, access: RecordAccess): void {
  ofRecords.write(controller, member, access)
}

/** What the decorators say about one handler. */
export interface AccessNotes {
  readonly onMethod?: AccessNote
  readonly onClass?: AccessNote
  readonly ofRecord?: RecordAccess
  /** Codes `ACCESS_CONTRADICTION`, `ACCESS_DECLARATION`. The class's own are among them for every handler. */
  readonly problems: readonly Problem[]
}

/** Reads the notes of a handler; a subclass has its base's where it says nothing itself. */
export function accessNotes(controller: Class, member: string): AccessNotes {
  const classSayings = onClasses.read(controller) ?? []
  const methodSayings = onMethods.read(controller, member) ?? []
  const onClass = strictest(classSayings)
  const onMethod = strictest(methodSayings)
  const ofRecord = ofRecords.read(controller, member)
  return {
    ...(onMethod === undefined ? {} : { onMethod }),
    ...(onClass === undefined ? {} : { onClass }),
    ...(ofRecord === undefined ? {} : { ofRecord }),
    problems: [
      ...findProblems(controller.name, classSayings),
      ...findProblems(`${controller.name}.${member}`, methodSayings.map(asHandler)),
    ],
  }
}

function asHandler(saying: Saying): Saying {
  return { ...saying, fault: saying.misplaced ?? saying.fault }
}

/** What is wrong with the decorators on a field of a record. */
export function memberProblems(owner: Class, member: string): readonly Problem[] {
  return findProblems(`${owner.name}.${member}`, onMethods.read(owner, member) ?? [])
}

/** What `@Secured` or `@NoAuth` says on a class that is no controller, such as a record. */
export function classAccess(owner: Class): {
  readonly note: AccessNote | undefined
  readonly problems: readonly Problem[]
} {
  const sayings = onClasses.read(owner) ?? []
  return { note: strictest(sayings), problems: findProblems(owner.name, sayings) }
}

function sayBare(args: readonly unknown[], saying: Saying): boolean {
  return decorate(args, (target) => {
    addSaying(target, saying)
  })
}

function toAccessDecorator(saying: Saying): AnyDecorator {
  return toDecorator((target) => {
    addSaying(target, saying)
  })
}

function addSaying(target: DecoratorTarget, saying: Saying): void {
  const { owner, member } = target
  if (member === undefined) {
    onClasses.write(owner, [...(onClasses.readOwn(owner) ?? []), saying])
    return
  }
  if (target.kind === 'field' && !saying.note.open) securedField.write(owner, member, true)
  const misplaced = target.isStatic
    ? `${saying.decorator} stands before a static method, which is no handler.`
    : `${saying.decorator} stands before a field, which is no handler.`
  const right = target.kind === 'method' && !target.isStatic
  onMethods.update(owner, member, (before = []) => [
    ...before,
    right ? saying : { ...saying, misplaced },
  ])
}

/** Contradicting decorators stop the start; until then the stricter one counts. */
function strictest(sayings: readonly Saying[]): AccessNote | undefined {
  return (sayings.find(({ note }) => !note.open) ?? sayings[0])?.note
}

function readSecured(args: readonly unknown[]): Saying {
  const [first] = args
  if (typeof first === 'function' && args.length === 1) {
    const note = Object.freeze({ ...tokenAccess, guard: first as Guard })
    return { decorator: '@Secured', note, fault: undefined }
  }
  if (isMap(first) && args.length === 1) return readSecuredOptions(first)
  return toRoles(args, false, undefined)
}

function readSecuredOptions(options: object): Saying {
  const { roles, all = false, fresh, amr } = options as Readonly<Record<string, unknown>>
  const seconds = fresh === undefined ? undefined : readSeconds(fresh)
  const ways: readonly unknown[] = amr === undefined ? [] : [amr].flat()
  const unknown = rejectUnknownOptions(options, ['roles', 'all', 'fresh', 'amr'], '@Secured')
  const judged: readonly (readonly [boolean, string])[] = [
    [isList(roles), '@Secured({ roles }) needs a list with at least one role.'],
    [typeof all === 'boolean', '@Secured: "all" must be true or false.'],
    [all !== true || roles !== undefined, '@Secured: "all" needs roles.'],
    [fresh === undefined || seconds !== undefined, '@Secured: "fresh" is no length of time.'],
    [isList(amr === undefined ? amr : ways), '@Secured: "amr" is no text such as "mfa".'],
    [ways.every(isName), '@Secured: "amr" is no text such as "mfa".'],
    [[roles, fresh, amr].some((one) => one !== undefined), '@Secured needs roles, fresh or amr.'],
  ]
  const told = [
    ...unknown.map(({ message, remedy }) => `${message} ${remedy}`),
    ...judged.flatMap(([isRight, fault]) => (isRight ? [] : [fault])),
  ]
  const fault = told.length === 0 ? undefined : [...new Set(told)].join(' ')
  const saying = toRoles(Array.isArray(roles) ? roles : [], all === true, fault)
  const own = { fresh: seconds, amr: Object.freeze(ways.filter(isName)) }
  return { ...saying, note: Object.freeze({ ...saying.note, ...own }) }
}

/** Undefined is left out. */
function isList(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length > 0)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function toRoles(roles: readonly unknown[], all: boolean, fault: string | undefined): Saying {
  const names = roles.filter(isName)
  const blank =
    names.length === roles.length
      ? undefined
      : '@Secured takes roles as non-empty text, { roles, all, fresh, amr }, or one guard function.'
  const note = Object.freeze({ ...tokenAccess, roles: Object.freeze(names), all })
  return { decorator: '@Secured', note, fault: fault ?? blank }
}

function findProblems(where: string, sayings: readonly Saying[]): Problem[] {
  const problems: Problem[] = []
  for (const { fault } of sayings) {
    if (fault === undefined) continue
    problems.push({
      code: 'ACCESS_DECLARATION',
      message: `${where}: ${fault}`,
      remedy:
        "Write @Secured, @Secured('role'), @Secured({ roles: ['a', 'b'], all: true }), @Secured({ fresh: '10m', amr: 'mfa' }) or @NoAuth.",
    })
  }
  if (sayings.length > 1) problems.push(toContradiction(where, sayings))
  return problems
}

function toContradiction(where: string, sayings: readonly Saying[]): Problem {
  const names = new Set(sayings.map(({ decorator }) => decorator))
  if (names.size > 1) {
    return {
      code: 'ACCESS_CONTRADICTION',
      message: `${where} is both @Secured and @NoAuth.`,
      remedy: 'Remove one of them.',
    }
  }
  const [name] = names
  return {
    code: 'ACCESS_CONTRADICTION',
    message: `${where} has ${name ?? '@Secured'} more than once.`,
    remedy: 'Write it once; several roles go into one @Secured({ roles: [...], all: true }).',
  }
}
