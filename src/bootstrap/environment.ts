/**
 * Environment variables: the framework's own, and those of `@Config` classes, whose fields are read from variables at the
 * start. `mailHost` is `MAIL_HOST`. Missing and invalid variables are added to the start report, and hidden values are never
 * shown. Source: specification, neutral naming; decisions, Tokens.
 */

import { inspect } from 'node:util'
import type { Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { readPublicUrl } from './public-url.js'
import { suggestion } from '../errors/did-you-mean.js'
import { HttpError } from '../errors/http-error.js'
import { compileText } from '../fields/compile-text.js'
import { readCheckedShape } from '../fields/checked-shape.js'
import { readShape, type Shape, type ShapeField } from '../fields/shape.js'
import { isClass, type Class } from '../metadata/class.js'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { createClassMetadata } from '../metadata/class-metadata.js'
import { classProvider, type ProviderDeclaration, type InjectionToken } from './provider.js'

const configs = createClassMetadata<true>('config')

/**
 * Marks a class of settings: its `@Field`s are read from environment variables. List it among the providers, or ask for
 * it in a constructor. Its instance is frozen.
 */
export function Config(): AnyDecorator
export function Config(target: Class): void
export function Config(value: unknown, context: DecoratorContext): void
export function Config(...args: unknown[]): AnyDecorator | undefined {
  const mark = ({ owner }: { readonly owner: Class }): void => {
    configs.write(owner, true)
  }
  return decorate(args, mark) ? undefined : toDecorator(mark)
}

type Variables = Readonly<Record<string, string | undefined>>

interface ConfigInput {
  /** Undefined if the application is only described: then nothing is read. */
  readonly variables: Variables | undefined
  /** Replacements of providers: the classes that they replace are not read. */
  readonly override: readonly (readonly [InjectionToken, unknown])[]
}

/**
 * @param classes the classes that may have settings injected: controllers, interceptors
 * @param problems receives missing and invalid variables
 * @returns the provider declarations. Settings have their values
 */
export async function provideConfigs(
  declared: readonly ProviderDeclaration[],
  classes: readonly Class[],
  { variables, override }: ConfigInput,
  problems: Problems,
): Promise<ProviderDeclaration[]> {
  const listed = declared.filter((declaration) => isConfig(declaration))
  const consumers = [...declared.filter((declaration) => isClass(declaration)), ...classes]
  const injectedConfigs = consumers
    .flatMap((consumer) => classProvider(consumer, consumer).dependencies)
    .filter((token) => isConfig(token))
  const provided: ProviderDeclaration[] = declared.filter((declaration) => !isConfig(declaration))
  for (const type of new Set([...listed, ...injectedConfigs])) {
    const isRead = variables !== undefined && !override.some(([token]) => token === type)
    const use = isRead ? await readConfig(type, variables, problems) : undefined
    provided.push({ provide: type, use })
  }
  return provided
}

function isConfig(declaration: unknown): declaration is Class {
  return isClass(declaration) && configs.readOwn(declaration) === true
}

async function readConfig(
  type: Class,
  variables: Variables,
  problems: Problems,
): Promise<object | undefined> {
  const before = problems.count
  const shape = readCheckedShape(type, problems)
  if (problems.count > before) return undefined
  const options = { unknownKeys: 'drop', from: 'program', inputName: 'the environment' } as const
  const check = compileText(shape, { ...options, problems })
  if (problems.count > before) return undefined
  try {
    return seal(shape, (await check(readTexts(shape, variables))) as Record<string, unknown>)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    for (const { path, code, message } of error.errors ?? []) {
      problems.add(toProblem(shape, path, { code, message }))
    }
    return undefined
  }
}

/** The framework's variables with prefixes that applications may also use. */
const frameworkVariables: readonly string[] = [
  ...['APP_API_KEY', 'APP_PRIVATE_KEY', 'APP_PUBLIC_KEY'],
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_REPLICAS'],
  'FILIGREE_EDITOR',
]
const frameworkNames: readonly string[] = ['PORT', 'HOST', 'NODE_ENV', 'LOG_LEVEL', 'PUBLIC_URL']

/**
 * Finds variables with a prefix of the framework that nothing reads: `APP_PROT` would be ignored silently.
 *
 * @param providers include the classes of settings, whose variables are known, too
 */
export function findUnknownVariables(
  variables: Variables,
  providers: readonly ProviderDeclaration[],
): Problem[] {
  const types = providers
    .map((provider) => ('provide' in provider ? provider.provide : provider))
    .filter((type) => isConfig(type))
  const settingVariables = types.flatMap((type) =>
    readShape(type, new Problems()).fields.map(({ name }) => variableOf(name)),
  )
  const knownVariables = new Set([...frameworkVariables, ...settingVariables])
  return Object.keys(variables)
    .filter((name) => /^(?:APP|FILIGREE|DATABASE)_/.test(name) && !knownVariables.has(name))
    .map((name) => {
      const plain = suggestion(name.slice(name.indexOf('_') + 1), frameworkNames)
      const suggested = suggestion(name, knownVariables) ?? plain
      const hint = suggested === undefined ? '' : `Did you mean ${suggested}? `
      return {
        code: 'UNKNOWN_VARIABLE',
        message: `${name}: nothing reads this environment variable.`,
        remedy: `${hint}Correct its name, or declare it in a class with @Config.`,
      }
    })
}

/** `mailHost` is `MAIL_HOST`, `smtpURL` is `SMTP_URL`. */
function variableOf(property: string): string {
  return property
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
}

/** A blank variable counts as not set, so that it is never read as 0 or false. */
function readTexts({ fields }: Shape, variables: Variables): Record<string, unknown> {
  const texts: Record<string, unknown> = {}
  for (const field of fields) {
    const text = variables[variableOf(field.name)]
    if (text !== undefined && text.trim() !== '') texts[field.name] = readText(field, text)
  }
  return texts
}

/**
 * Strings are taken unchanged; for other kinds surrounding blanks are removed, and commas separate the items of lists.
 */
function readText({ kind, list }: ShapeField, text: string): unknown {
  if (list) return text.split(',').map((item) => item.trim())
  return kind === 'string' || kind === 'text' ? text : text.trim()
}

interface RuleError {
  readonly code: string
  readonly message: string
}

function toProblem({ name, byName }: Shape, path: string, { code, message }: RuleError): Problem {
  const [property = ''] = path.split('.', 1)
  const variable = variableOf(property)
  const field = byName.get(property)
  const text = message.startsWith(`${path} `) ? message.slice(path.length + 1) : message
  const showsMessage = field?.hidden !== true || isWithoutValue(field, path, code)
  const reason =
    code === 'required' ? 'is not set' : showsMessage ? text : `breaks its rule ${code}`
  return {
    code: 'INVALID_ENVIRONMENT',
    message: `${variable} ${reason.replace(/\.$/, '')}, for ${name}.${property}.`,
    remedy: code === 'required' ? `Set ${variable}.` : `Correct ${variable}.`,
  }
}

/** Rules of `@Field` whose messages contain only the rule, and neither the value nor allowed values. */
const withoutValue: ReadonlySet<string> = new Set([
  'type',
  'min',
  'max',
  'minLength',
  'maxLength',
  'pattern',
  'format',
])

/** Messages of class-validator's rules, and messages about nested values, may contain the value. */
function isWithoutValue({ constraints }: ShapeField, path: string, code: string): boolean {
  if (path.includes('.') || constraints.some(({ name }) => name === code)) return false
  return withoutValue.has(code)
}

/**
 * A hidden value has a getter that is not enumerable, so JSON, logs and copies omit it. `inspect` can call getters, so it
 * gets an object without hidden values.
 */
function seal({ type, fields }: Shape, values: Record<string, unknown>): object {
  const config = Object.create(type.prototype as object) as object
  const visible = Object.create(type.prototype as object) as object
  const hidden = new Set(fields.filter((field) => field.hidden).map(({ name }) => name))
  for (const [name, value] of Object.entries(values)) {
    const frozen = freezeDeep(value)
    const enumerable = !hidden.has(name)
    Object.defineProperty(
      config,
      name,
      enumerable ? { value: frozen, enumerable } : { get: () => frozen, enumerable },
    )
    if (enumerable) Object.defineProperty(visible, name, { value: frozen, enumerable })
  }
  if (hidden.size > 0) Object.defineProperty(config, inspect.custom, { value: () => visible })
  return Object.freeze(config)
}

function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const inner of Object.values(value)) freezeDeep(inner)
  return Object.freeze(value)
}

// The framework's own variables. No other file reads them.

export interface Environment {
  /** `PORT`, if set. */
  readonly port: number | undefined
  /** `HOST`, if set. */
  readonly host: string | undefined
  /** True if `NODE_ENV` is `production`. */
  readonly production: boolean
  /** True if `NODE_ENV` is `development`. Both can be false. */
  readonly development: boolean
  /** `DATABASE_URL`, if set. */
  readonly databaseUrl: string | undefined
  /** `DATABASE_DIRECT_URL`, if set: the database's address without the pooler. */
  readonly databaseDirectUrl: string | undefined
  /** `DATABASE_REPLICAS`, if set: addresses, separated by commas. */
  readonly databaseReplicas: string | undefined
  /** `PUBLIC_URL`, if set, without a slash at its end. */
  readonly publicUrl: string | undefined
  /** `LOG_LEVEL`. Default `info`, and `warn` while `NODE_ENV` is `test`. */
  readonly logLevel: string
  /** All variables, for parts that read further ones, such as keys. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** @param problems receives variables with an invalid value, by name */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): Environment {
  return Object.freeze({
    port: readPort(variables.PORT, problems),
    host: blankToUndefined(variables.HOST),
    production: variables.NODE_ENV === 'production',
    development: variables.NODE_ENV === 'development',
    databaseUrl: blankToUndefined(variables.DATABASE_URL),
    databaseDirectUrl: blankToUndefined(variables.DATABASE_DIRECT_URL),
    databaseReplicas: blankToUndefined(variables.DATABASE_REPLICAS),
    publicUrl: readPublicAddress(variables, problems),
    logLevel: readLogLevel(variables, problems),
    variables,
  })
}

function readPort(text: string | undefined, problems: Problems): number | undefined {
  const value = blankToUndefined(text)
  if (value === undefined) return undefined
  const port = /^\d{1,5}$/.test(value) ? Number(value) : NaN
  if (port <= 65_535) return port
  problems.add({
    code: 'INVALID_ENVIRONMENT',
    message: `PORT: "${value}" is not a port.`,
    remedy: 'Set a number from 0 to 65535; 0 takes any free port.',
  })
  return undefined
}

function readPublicAddress(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): string | undefined {
  const value = blankToUndefined(variables.PUBLIC_URL)
  if (value === undefined) return undefined
  const production = variables.NODE_ENV === 'production'
  return readPublicUrl(
    value,
    { where: 'PUBLIC_URL', code: 'INVALID_ENVIRONMENT', production },
    problems,
  )
}

function readLogLevel(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): string {
  const value = blankToUndefined(variables.LOG_LEVEL)?.toLowerCase()
  if (value === undefined) return variables.NODE_ENV === 'test' ? 'warn' : 'info'
  if ((logLevels as readonly string[]).includes(value)) return value
  problems.add({
    code: 'INVALID_ENVIRONMENT',
    message: `LOG_LEVEL: "${value}" is not a level.`,
    remedy: `Set ${suggestion(value, logLevels) ?? 'info'}. Levels: ${logLevels.join(', ')}.`,
  })
  return 'info'
}

function blankToUndefined(text: string | undefined): string | undefined {
  const trimmed = text?.trim()
  return trimmed === '' ? undefined : trimmed
}
