/** The environment, read in this one place. Source: specification, neutral naming; decisions, Authentication. */
import type { Problem } from '../errors/declaration-error.js'
import { suggestion } from '../errors/did-you-mean.js'

export interface Environment {
  /** `PORT`, where set. */
  readonly port: number | undefined
  /** `HOST`, where set. */
  readonly host: string | undefined
  /** True when `NODE_ENV` is `production`. */
  readonly production: boolean
  /** `DATABASE_URL`, where set. */
  readonly databaseUrl: string | undefined
  /** `DATABASE_DIRECT_URL`, where set: the way around a pooler. */
  readonly databaseDirectUrl: string | undefined
  /** `DATABASE_REPLICAS`, where set: addresses with commas between them. */
  readonly databaseReplicas: string | undefined
  /** `LOG_LEVEL`. Default `info`, and `warn` while `NODE_ENV` is `test`. */
  readonly logLevel: string
  /** The variables themselves, for the floors that check their own: keys, database. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** @param problems gets variables with an invalid value, by name */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): Environment {
  return Object.freeze({
    port: readPort(variables.PORT, problems),
    host: blankToUndefined(variables.HOST),
    production: variables.NODE_ENV === 'production',
    databaseUrl: blankToUndefined(variables.DATABASE_URL),
    databaseDirectUrl: blankToUndefined(variables.DATABASE_DIRECT_URL),
    databaseReplicas: blankToUndefined(variables.DATABASE_REPLICAS),
    logLevel: readLogLevel(variables, problems),
    variables,
  })
}

function readPort(text: string | undefined, problems: Problem[]): number | undefined {
  const given = blankToUndefined(text)
  if (given === undefined) return undefined
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN
  if (port <= 65_535) return port
  problems.push({
    code: 'INVALID_ENVIRONMENT',
    message: `PORT: "${given}" is no port.`,
    remedy: 'Set a number from 0 to 65535; 0 takes any free port.',
  })
  return undefined
}

function readLogLevel(
  variables: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): string {
  const given = blankToUndefined(variables.LOG_LEVEL)?.toLowerCase()
  if (given === undefined) return variables.NODE_ENV === 'test' ? 'warn' : 'info'
  if ((logLevels as readonly string[]).includes(given)) return given
  problems.push({
    code: 'INVALID_ENVIRONMENT',
    message: `LOG_LEVEL: "${given}" is no level.`,
    remedy: `Set ${suggestion(given, logLevels) ?? 'info'}. Levels: ${logLevels.join(', ')}.`,
  })
  return 'info'
}

function blankToUndefined(text: string | undefined): string | undefined {
  const trimmed = text?.trim()
  return trimmed === '' ? undefined : trimmed
}
