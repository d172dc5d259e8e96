/** `@Secured` and `@NoAuth`, on classes and methods. Source: specification, Authentication 5; decisions, Access to routes. */
import { isMap } from '../core/json.js'
import type { Problem } from '../errors/declaration-error.js'
import { securedField } from '../fields/field.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import type { Class } from '../metadata/class.js'
import { createClassMetadata, createMemberMetadata } from '../metadata/class-metadata.js'
import type { NamedRoles } from './role-list.js'
import { noAuthAccess, tokenAccess, type AccessRule, type Guard } from './access.js'

const securedOptions = declareOptions({
  /** Any of these roles is sufficient. With `all`, the caller needs every role. */
  roles: option.of<readonly string[]>(
    (value) => Array.isArray(value) && value.length > 0,
    "Write a list with at least one role: ['admin'].",
  ),
  /** True if every role is required. Default: false. */
  all: option.flag().default(false),
  /** The caller must have signed in within this time, according to the claim `auth_time`: `'10m'`, or seconds. */
  fresh: option.seconds("Write a length of time: '10m'."),
  /** The token's claim `amr` must contain this sign-in method, or one of several: `'mfa'` (RFC 8176). */
  amr: option.parsed<string | readonly string[], readonly string[]>(
    readMethods,
    "Write text such as 'mfa', or a list of texts.",
  ),
})

/**
 * Requirements in addition to a valid token. Set at least one of `roles`, `fresh` and `amr`. All of them must be met.
 */
export interface SecuredOptions extends OptionsOf<typeof securedOptions> {}

/** The declaration of one decorator, with its problem. */
interface AccessDeclaration {
  /** As written: `@Secured`. */
  readonly decorator: '@Secured' | '@NoAuth'
  readonly rule: AccessRule
  /** The end of `ItemController.show: …`. Undefined if the declaration is valid. */
  readonly problem: string | undefined
  /** The problem if the decorator is on a field or a static method. It is not a problem on fields of records. */
  readonly misplaced?: string
}

const classDeclarations = createClassMetadata<readonly AccessDeclaration[]>('access')
const methodDeclarations = createMemberMetadata<readonly AccessDeclaration[]>('access')
const recordRules = createMemberMetadata<RecordAccess>('access of the record')

/** The rule of the record that a handler made for `crud` reads or writes. */
interface RecordAccess {
  /** The record's name. */
  readonly record: string
  readonly rule: AccessRule
}

/**
 * A token is needed: any valid one (bare), one with any of the roles, or one for which the guard returns `true`. A
 * method's decorator replaces its class's, roles included.
 *
 * @example `@Secured`, `@Secured('admin', 'editor')`, `@Secured({ roles: ['admin', 'audit'], all: true })`,
 * `@Secured((claims, request) => claims?.sub === request.params.id)`, `@Secured({ fresh: '10m' })`, `@Secured({ amr:
 * 'mfa' })`
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
  const bare: AccessDeclaration = { decorator: '@Secured', rule: tokenAccess, problem: undefined }
  return applyBare(args, bare) ? undefined : toAccessDecorator(readSecured(args))
}

/** No token is needed, for example for an inbound webhook. With or without parentheses. */
export function NoAuth(): AnyDecorator
export function NoAuth(target: Class): void
export function NoAuth(
  target: object,
  member: string | symbol,
  descriptor?: PropertyDescriptor,
): void
export function NoAuth(value: unknown, context: DecoratorContext): void
export function NoAuth(...args: unknown[]): AnyDecorator | undefined {
  const bare: AccessDeclaration = { decorator: '@NoAuth', rule: noAuthAccess, problem: undefined }
  if (applyBare(args, bare)) return undefined
  const problem = args.length === 0 ? undefined : '@NoAuth takes no arguments.'
  return toAccessDecorator({ ...bare, problem })
}

/** Sets the record's rule of a handler that `crud` generates. Decorators of the controller add to it. */
export function setRecordAccess(controller: Class, member: string, access: RecordAccess): void {
  recordRules.write(controller, member, access)
}

/** The roles that the decorators of a handler and of its class name. Those of its record are not included. */
export function namedRolesOf(controller: Class, member: string): readonly NamedRoles[] {
  const { onMethod, onClass } = readHandlerAccess(controller, member)
  return [
    ...(onMethod === undefined ? [] : [{ where: `${controller.name}.${member}`, ...onMethod }]),
    ...(onClass === undefined ? [] : [{ where: controller.name, ...onClass }]),
  ]
}

/** The declared access of a handler. */
interface HandlerAccess {
  readonly onMethod?: AccessRule
  readonly onClass?: AccessRule
  readonly ofRecord?: RecordAccess
  /** Codes `ACCESS_CONTRADICTION` and `ACCESS_DECLARATION`. The problems of the class are included for every handler. */
  readonly problems: readonly Problem[]
}

/** Reads the access metadata of a handler. A subclass inherits the metadata of its base class. */
export function readHandlerAccess(controller: Class, member: string): HandlerAccess {
  const classDeclarationList = classDeclarations.read(controller) ?? []
  const methodDeclarationList = methodDeclarations.read(controller, member) ?? []
  const onClass = strictest(classDeclarationList)
  const onMethod = strictest(methodDeclarationList)
  const ofRecord = recordRules.read(controller, member)
  return {
    ...(onMethod === undefined ? {} : { onMethod }),
    ...(onClass === undefined ? {} : { onClass }),
    ...(ofRecord === undefined ? {} : { ofRecord }),
    problems: [
      ...findProblems(controller.name, classDeclarationList),
      ...findProblems(`${controller.name}.${member}`, methodDeclarationList.map(asHandler)),
    ],
  }
}

function asHandler(declaration: AccessDeclaration): AccessDeclaration {
  return { ...declaration, problem: declaration.misplaced ?? declaration.problem }
}

/** The problems of the decorators on a field of a record. */
export function memberProblems(owner: Class, member: string): readonly Problem[] {
  return findProblems(`${owner.name}.${member}`, methodDeclarations.read(owner, member) ?? [])
}

/** The access declared by `@Secured` or `@NoAuth` on a class that is not a controller, such as a record. */
export function classAccess(owner: Class): {
  readonly rule: AccessRule | undefined
  readonly problems: readonly Problem[]
} {
  const declarations = classDeclarations.read(owner) ?? []
  return { rule: strictest(declarations), problems: findProblems(owner.name, declarations) }
}

function applyBare(args: readonly unknown[], declaration: AccessDeclaration): boolean {
  return decorate(args, (target) => {
    addDeclaration(target, declaration)
  })
}

function toAccessDecorator(declaration: AccessDeclaration): AnyDecorator {
  return toDecorator((target) => {
    addDeclaration(target, declaration)
  })
}

function addDeclaration(target: DecoratorTarget, declaration: AccessDeclaration): void {
  const { owner, member } = target
  if (member === undefined) {
    classDeclarations.write(owner, [...(classDeclarations.readOwn(owner) ?? []), declaration])
    return
  }
  if (target.kind === 'field' && !declaration.rule.open) securedField.write(owner, member, true)
  const misplaced = target.isStatic
    ? `${declaration.decorator} is on a static method, which is not a handler.`
    : `${declaration.decorator} is on a field, which is not a handler.`
  const isHandler = target.kind === 'method' && !target.isStatic
  methodDeclarations.update(owner, member, (before = []) => [
    ...before,
    isHandler ? declaration : { ...declaration, misplaced },
  ])
}

/** Contradicting decorators are reported. Until then the stricter one applies. */
function strictest(declarations: readonly AccessDeclaration[]): AccessRule | undefined {
  return (declarations.find(({ rule }) => !rule.open) ?? declarations[0])?.rule
}

function readSecured(args: readonly unknown[]): AccessDeclaration {
  const [first] = args
  if (typeof first === 'function' && args.length === 1) {
    const rule = Object.freeze({ ...tokenAccess, guard: first as Guard })
    return { decorator: '@Secured', rule, problem: undefined }
  }
  if (isMap(first) && args.length === 1) return readSecuredOptions(first)
  return toRoles(args, false, undefined)
}

function readSecuredOptions(options: SecuredOptions): AccessDeclaration {
  const { roles = [], all, fresh, amr = [] } = securedOptions.read(options)
  const isEmpty = [options.roles, options.fresh, options.amr].every((one) => one === undefined)
  const messages = [
    ...securedOptions
      .findProblems(options, '@Secured')
      .map(({ message, remedy }) => `${message} ${remedy}`),
    ...(all && options.roles === undefined ? ['@Secured: "all" needs roles.'] : []),
    ...(isEmpty ? ['@Secured needs roles, fresh or amr.'] : []),
  ]
  const problem = messages.length === 0 ? undefined : messages.join(' ')
  const declaration = toRoles(roles, all, problem)
  const conditions = { fresh, amr: Object.freeze([...amr]) }
  return { ...declaration, rule: Object.freeze({ ...declaration.rule, ...conditions }) }
}

/** @returns undefined if it is neither a name nor a list of names */
function readMethods(value: unknown): readonly string[] | undefined {
  const methods: readonly unknown[] = [value].flat()
  return methods.length > 0 && methods.every(isName) ? methods : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function toRoles(
  roles: readonly unknown[],
  all: boolean,
  problem: string | undefined,
): AccessDeclaration {
  const names = roles.filter(isName)
  const blank =
    names.length === roles.length
      ? undefined
      : '@Secured takes roles as non-empty text, { roles, all, fresh, amr }, or one guard function.'
  const rule = Object.freeze({ ...tokenAccess, roles: Object.freeze(names), all })
  return { decorator: '@Secured', rule, problem: problem ?? blank }
}

function findProblems(where: string, declarations: readonly AccessDeclaration[]): Problem[] {
  const problems: Problem[] = []
  for (const { problem } of declarations) {
    if (problem === undefined) continue
    problems.push({
      code: 'ACCESS_DECLARATION',
      message: `${where}: ${problem}`,
      remedy:
        "Write @Secured, @Secured('role'), @Secured({ roles: ['a', 'b'], all: true }), @Secured({ fresh: '10m', amr: 'mfa' }) or @NoAuth.",
    })
  }
  if (declarations.length > 1) problems.push(toContradiction(where, declarations))
  return problems
}

function toContradiction(where: string, declarations: readonly AccessDeclaration[]): Problem {
  const names = new Set(declarations.map(({ decorator }) => decorator))
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
