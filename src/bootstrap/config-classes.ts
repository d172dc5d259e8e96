/**
 * `@Config` classes, whose fields are read from environment variables at the start. `mailHost` is `MAIL_HOST`. Missing and
 * invalid variables are problems of the start, and hidden values are never shown. Source: decisions, Tokens.
 */

import { inspect } from 'node:util'
import type { Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { suggestion } from '../errors/did-you-mean.js'
import type { FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'
import { compileText } from '../fields/compile-text.js'
import { readCheckedShape } from '../fields/checked-shape.js'
import { shapeOf, type Shape, type ShapeField } from '../fields/shape.js'
import { isClass, type Class } from '../metadata/class.js'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { createClassMetadata } from '../metadata/class-metadata.js'
import { plainVariables, prefixedVariables, type Variables } from './environment.js'
import { classProvider, type ProviderDeclaration, type InjectionToken } from './provider.js'

const configMarks = createClassMetadata<true>('config')

/**
 * Marks a class of settings: its `@Field`s are read from environment variables. List it among the providers, or ask for
 * it in a constructor. Its instance is frozen.
 */
export function Config(): AnyDecorator
export function Config(target: Class): void
export function Config(value: unknown, context: DecoratorContext): void
export function Config(...args: unknown[]): AnyDecorator | undefined {
  const mark = ({ owner }: { readonly owner: Class }): void => {
    configMarks.write(owner, true)
  }
  return decorate(args, mark) ? undefined : toDecorator(mark)
}

interface ConfigInput {
  /** Undefined if the application is only described: then nothing is read. */
  readonly variables: Variables | undefined
  /** Replacements of providers: the classes that they replace are not read. */
  readonly override: readonly (readonly [InjectionToken, unknown])[]
}

/**
 * @param classes controllers and interceptors, which may have config classes injected
 * @param problems receives missing and invalid variables
 * @returns the declarations, in which each config class has its instance as the value
 */
export async function provideConfigs(
  declared: readonly ProviderDeclaration[],
  classes: readonly Class[],
  { variables, override }: ConfigInput,
  problems: Problems,
): Promise<ProviderDeclaration[]> {
  const consumers = [...declared.filter((declaration) => isClass(declaration)), ...classes]
  const injectedConfigs = consumers
    .flatMap((consumer) => classProvider(consumer, consumer).dependencies)
    .filter(isConfig)
  const otherProviders = declared.filter((declaration) => !isConfig(declaration))
  const configProviders: ProviderDeclaration[] = []
  for (const type of new Set([...declared.filter(isConfig), ...injectedConfigs])) {
    const isOverridden = override.some(([token]) => token === type)
    const use =
      variables === undefined || isOverridden
        ? undefined
        : await readConfig(type, variables, problems)
    configProviders.push({ provide: type, use })
  }
  return [...otherProviders, ...configProviders]
}

function isConfig(declaration: unknown): declaration is Class {
  return isClass(declaration) && configMarks.readOwn(declaration) === true
}

async function readConfig(
  type: Class,
  variables: Variables,
  problems: Problems,
): Promise<object | undefined> {
  const countBefore = problems.count
  const shape = readCheckedShape(type, problems)
  if (problems.count > countBefore) return undefined
  const options = { unknownKeys: 'drop', from: 'program', inputName: 'the environment' } as const
  const check = compileText(shape, { ...options, problems })
  if (problems.count > countBefore) return undefined
  try {
    return seal(shape, (await check(readTexts(shape, variables))) as Record<string, unknown>)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    for (const fieldError of error.errors ?? []) problems.add(toProblem(shape, fieldError))
    return undefined
  }
}

/**
 * Finds variables with a prefix of the framework that nothing reads: `APP_PROT` would be ignored silently.
 *
 * @param providers include the config classes, whose variables are known
 */
export function findUnknownVariables(
  variables: Variables,
  providers: readonly ProviderDeclaration[],
): Problem[] {
  const types = providers
    .map((provider) => ('provide' in provider ? provider.provide : provider))
    .filter(isConfig)
  const configVariables = types.flatMap((type) =>
    shapeOf(type).fields.map(({ name }) => variableOf(name)),
  )
  const knownVariables = new Set([...prefixedVariables, ...configVariables])
  return Object.keys(variables)
    .filter((name) => /^(?:APP|FILIGREE|DATABASE)_/.test(name) && !knownVariables.has(name))
    .map((name) => {
      const withoutPrefix = name.slice(name.indexOf('_') + 1)
      const suggested =
        suggestion(name, knownVariables) ?? suggestion(withoutPrefix, plainVariables)
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

function toProblem({ name, byName }: Shape, { path, code, message }: FieldError): Problem {
  const [property = ''] = path.split('.', 1)
  const variable = variableOf(property)
  const where = `for ${name}.${property}`
  if (code === 'required') {
    const message = `${variable} is not set, ${where}.`
    return { code: 'INVALID_ENVIRONMENT', message, remedy: `Set ${variable}.` }
  }
  const field = byName.get(property)
  const mayReveal = field?.hidden === true && messageMayContainValue(field, path, code)
  const reason = mayReveal ? `breaks its rule ${code}` : withoutName(message, path)
  return {
    code: 'INVALID_ENVIRONMENT',
    message: `${variable} ${reason}, ${where}.`,
    remedy: `Correct ${variable}.`,
  }
}

/** `port must be a number.` is `must be a number`. */
function withoutName(message: string, path: string): string {
  const text = message.startsWith(`${path} `) ? message.slice(path.length + 1) : message
  return text.replace(/\.$/, '')
}

/** Rules of `@Field` whose messages contain neither the value nor allowed values. */
const rulesWithoutValue: ReadonlySet<string> = new Set([
  'type',
  'min',
  'max',
  'minLength',
  'maxLength',
  'pattern',
  'format',
])

/** Messages of class-validator's rules, and messages about nested values, may contain the value. */
function messageMayContainValue({ constraints }: ShapeField, path: string, code: string): boolean {
  return (
    path.includes('.') ||
    constraints.some(({ name }) => name === code) ||
    !rulesWithoutValue.has(code)
  )
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
