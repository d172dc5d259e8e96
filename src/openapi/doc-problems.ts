/** Finds faults in the documentation of an application, at the start. */
import { isMap } from '../core/json.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import { resolveType } from '../fields/type-of.js'
import type { Class } from '../metadata/class-metadata.js'
import {
  classDoc,
  isStatus,
  memberDocs,
  type DocHeader,
  type DocOptions,
  type DocResponse,
} from './doc.js'
import { deprecationFault, type Deprecated } from './deprecation.js'
import type { DocumentedRoute } from './documented-route.js'
import { toPlainJson } from './plain-json.js'

/**
 * Every fault in the `@Doc`s of these controllers: names, values, samples, and `@Doc` on methods that are not routes.
 */
export function findDocProblems(
  routes: readonly DocumentedRoute[],
  problems: Problem[] = [],
): Problem[] {
  const members = new Map<Class, Set<string>>()
  for (const { route } of routes) {
    const known = members.get(route.controller) ?? new Set()
    members.set(route.controller, known.add(route.member))
  }
  for (const [controller, routed] of members) {
    const onClass = classDoc(controller)
    if (onClass !== undefined) judge(`@Doc of ${controller.name}`, onClass, problems)
    for (const [member, options] of memberDocs(controller)) {
      const where = `@Doc of ${controller.name}.${member}`
      if (routed.has(member)) judge(where, options, problems)
      else report(where, 'it is on a member that is not a route.', problems)
    }
  }
  return problems
}

const optionNames: Readonly<Record<keyof DocOptions, true>> = {
  summary: true,
  description: true,
  tags: true,
  example: true,
  exampleResponse: true,
  secure: true,
  deprecated: true,
  responses: true,
  headers: true,
  files: true,
}

const responseNames: Readonly<Record<keyof DocResponse, true>> = {
  description: true,
  type: true,
  example: true,
  headers: true,
}

const momentNames: Readonly<Record<keyof Deprecated, true>> = { since: true, until: true }

const headerNames: Readonly<Record<keyof DocHeader, true>> = {
  description: true,
  required: true,
  example: true,
}

function judge(where: string, options: DocOptions, problems: Problem[]): void {
  refuseUnknownNames(where, options, optionNames, problems)
  const kinds = [
    ['summary', 'a text', isText],
    ['description', 'a text', isText],
    ['tags', 'a list of texts', isTextList],
    ['secure', 'true or false', isBoolean],
    ['responses', 'an object by status', isMap],
    ['headers', 'an object by name', isMap],
    ['files', 'a list of names, or descriptions by name', isFiles],
  ] as const
  for (const [name, wanted, test] of kinds) {
    const value: unknown = options[name]
    if (value !== undefined && !test(value)) report(where, `${name} is not ${wanted}.`, problems)
  }
  const fault = options.deprecated === undefined ? undefined : deprecationFault(options.deprecated)
  if (fault !== undefined) report(where, `deprecated ${fault}.`, problems)
  if (isMap(options.deprecated)) {
    refuseUnknownNames(`${where}, deprecated`, options.deprecated, momentNames, problems)
  }
  for (const name of ['example', 'exampleResponse'] as const) {
    judgeSample(where, name, options[name], problems)
  }
  if (isMap(options.responses)) judgeResponses(where, options.responses, problems)
  if (isMap(options.headers)) {
    judgeHeaders(where, options.headers, problems)
    for (const name of Object.keys(options.headers).filter((known) => elsewhere.test(known))) {
      report(where, `header "${name}" is documented by the route itself.`, problems)
    }
  }
}

function judgeSample(where: string, name: string, sample: unknown, problems: Problem[]): void {
  if (sample === undefined || toPlainJson(sample) !== undefined) return
  report(where, `${name} cannot be expressed in JSON.`, problems)
}

function judgeResponses(where: string, responses: object, problems: Problem[]): void {
  for (const [status, said] of Object.entries(responses) as [string, unknown][]) {
    const place = `${where}, responses ${status}`
    if (!isStatus(Number(status))) report(where, `"${status}" is not a status.`, problems)
    if (typeof said === 'string') continue
    if (!isMap(said)) {
      report(place, 'it is neither a text nor an object.', problems)
      continue
    }
    refuseUnknownNames(place, said, responseNames, problems)
    judgeSample(place, 'example', said.example, problems)
    if (said.type !== undefined && !namesClass(said.type)) {
      report(place, 'type is not a class.', problems)
    }
    if (isMap(said.headers)) judgeHeaders(place, said.headers, problems)
    else if (said.headers !== undefined) {
      report(place, 'headers is not an object by name.', problems)
    }
  }
}

/** Headers that OpenAPI describes elsewhere: a parameter with such a name "shall be ignored" (Parameter Object). */
const elsewhere = /^(?:accept|content-type|authorization)$/i

function judgeHeaders(where: string, headers: object, problems: Problem[]): void {
  for (const [name, said] of Object.entries(headers) as [string, unknown][]) {
    if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) report(where, `"${name}" is not a header.`, problems)
    if (isMap(said)) refuseUnknownNames(`${where}, header ${name}`, said, headerNames, problems)
    else if (!isText(said)) report(where, `header "${name}" is not described by text.`, problems)
  }
}

function report(where: string, what: string, problems: Problem[]): void {
  problems.push({
    code: 'DOC_DECLARATION',
    message: `${where}: ${what}`,
    remedy: 'Correct it or leave it out.',
  })
}

function namesClass(declared: unknown): boolean {
  try {
    return resolveType(declared) !== undefined
  } catch (error) {
    if (error instanceof DeclarationError || error instanceof ReferenceError) return false
    throw error
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText)
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isFiles(value: unknown): boolean {
  return isTextList(value) || (isMap(value) && Object.values(value).every(isText))
}
