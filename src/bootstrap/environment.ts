/**
 * Reads environment variables; only this file does. Source: specification, neutral naming; decisions, Tokens.
 */
import type { Problem } from '../errors/declaration-error.js'
import { readPublicUrl } from './public-url.js'
import { suggestion } from '../errors/did-you-mean.js'

export interface Environment {
  /** `PORT`, if set. */
  readonly port: number | undefined
  /** `HOST`, if set. */
  readonly host: string | undefined
  /** True if `NODE_ENV` is `production`. */
  readonly production: boolean
  /** True if `NODE_ENV` is `development`; it may also be neither. */
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
  /** All variables, for the parts that check their own: keys, database. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** @param problems receives variables with an invalid value, by name */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): Environment {
  return Object.freeze({
    port: readPort(variables.PORT, problems),
    host: blankToUndefined(variables.HOST),
    production: variables.NODE_ENV === 'production',
    development: variables.NODE_ENV === 'development',
    databaseUrl: blankToUndefined(variables.DATABASE_URL),
    databaseDirectUrl: blankToUndefined(variables.DATABASE_DIRECT_URL),
    databaseReplicas: blankToUndefined(variables.DATABASE_REPLICAS),
    publicUrl: readOwnAddress(variables, problems),
    logLevel: readLogLevel(variables, problems),
    variables,
  })
}

function readPort(text: string | undefined, problems: Problem[]): number | undefined {
  const value = blankToUndefined(text)
  if (value === undefined) return undefined
  const port = /^\d{1,5}$/.test(value) ? Number(value) : NaN
  if (port <= 65_535) return port
  problems.push({
    code: 'INVALID_ENVIRONMENT',
    message: `PORT: "${value}" is not a port.`,
    remedy: 'Set a number from 0 to 65535; 0 takes any free port.',
  })
  return undefined
}

function readOwnAddress(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): string | undefined {
  const value = blankToUndefined(variables.PUBLIC_URL)
  if (value === undefined) return undefined
  const production = variables.NODE_ENV === 'production'
  const about = { where: 'PUBLIC_URL', code: 'INVALID_ENVIRONMENT', production }
  return readPublicUrl(value, about, problems)
}

function readLogLevel(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): string {
  const value = blankToUndefined(variables.LOG_LEVEL)?.toLowerCase()
  if (value === undefined) return variables.NODE_ENV === 'test' ? 'warn' : 'info'
  if ((logLevels as readonly string[]).includes(value)) return value
  problems.push({
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
