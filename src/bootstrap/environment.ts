/** The environment variables of the framework itself. No other file reads them. Source: specification, neutral naming. */

import type { Problems } from '../errors/problems.js'
import { suggestion } from '../errors/did-you-mean.js'
import { readPublicUrl } from './public-url.js'

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Variables that share a prefix with those of applications. */
export const prefixedVariables: readonly string[] = [
  ...['APP_API_KEY', 'APP_PRIVATE_KEY', 'APP_PUBLIC_KEY'],
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_REPLICAS'],
  'FILIGREE_EDITOR',
]
export const plainVariables: readonly string[] = [
  'PORT',
  'HOST',
  'NODE_ENV',
  'LOG_LEVEL',
  'LOG_FORMAT',
  'PUBLIC_URL',
]

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
  /** `LOG_FORMAT`. Default `json` in production, and `text` elsewhere. */
  readonly logFormat: 'json' | 'text'
  /** All variables. Keys and config classes are read from them. */
  readonly variables: Variables
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** @param problems receives variables with an invalid value, by name */
export function readEnvironment(variables: Variables, problems: Problems): Environment {
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
    logFormat: readLogFormat(variables, problems),
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

function readPublicAddress(variables: Variables, problems: Problems): string | undefined {
  const value = blankToUndefined(variables.PUBLIC_URL)
  if (value === undefined) return undefined
  const production = variables.NODE_ENV === 'production'
  return readPublicUrl(
    value,
    { where: 'PUBLIC_URL', code: 'INVALID_ENVIRONMENT', production },
    problems,
  )
}

function readLogLevel(variables: Variables, problems: Problems): string {
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

function readLogFormat(variables: Variables, problems: Problems): 'json' | 'text' {
  const value = blankToUndefined(variables.LOG_FORMAT)?.toLowerCase()
  if (value === 'json' || value === 'text') return value
  if (value !== undefined)
    problems.add({
      code: 'INVALID_ENVIRONMENT',
      message: `LOG_FORMAT: "${value}" is not a format.`,
      remedy: 'Set json or text.',
    })
  return variables.NODE_ENV === 'production' ? 'json' : 'text'
}

function blankToUndefined(text: string | undefined): string | undefined {
  const trimmed = text?.trim()
  return trimmed === '' ? undefined : trimmed
}
