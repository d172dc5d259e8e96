/**
 * The roles of an application, `auth: { roles }`: finds roles in rules and tokens that the list does not have, which are
 * usually mistyped.
 */
import type { Log } from '../core/log.js'
import type { Problem } from '../errors/declaration-error.js'
import { didYouMean } from '../errors/did-you-mean.js'
import type { Claims } from '../http/request.js'

/** The roles that one declaration names. */
export interface NamedRoles {
  /** The beginning of messages: `TicketController.close`, `Ticket.salary`, `admin`. */
  readonly where: string
  readonly roles: readonly string[]
}

/** A message names at most this many places of a role. */
const maxPlaces = 3
/** Roles of tokens that were reported. There are few, unless a program invents them. */
const maxReported = 100

/** @returns one problem for each unknown role, with code `ROLE_UNKNOWN` */
export function findUnknownRoles(
  listed: readonly string[],
  declarations: Iterable<NamedRoles>,
): Problem[] {
  const places = new Map<string, Set<string>>()
  for (const { where, roles } of declarations)
    for (const role of roles) {
      if (listed.includes(role)) continue
      const found = places.get(role) ?? new Set()
      places.set(role, found.add(where))
    }
  return [...places].map(([role, found]) => ({
    code: 'ROLE_UNKNOWN',
    message: `${describePlaces([...found])}: the role ${JSON.stringify(role)} is not in auth.roles.`,
    remedy: remedyFor(role, listed),
  }))
}

function describePlaces(places: readonly string[]): string {
  const more = places.length - maxPlaces
  const named = places.slice(0, maxPlaces).join(', ')
  return more > 0 ? `${named} and ${more} more` : named
}

function remedyFor(role: string, listed: readonly string[]): string {
  const near = didYouMean(role, listed)
  const names = near === '' ? `Roles: ${listed.join(', ')}.` : near
  return `${names} Otherwise add it to bootstrap auth.roles.`
}

/** Warns of roles in tokens that the application issues, each once. Such a role opens nothing. */
export class RoleWarnings {
  readonly #listed: readonly string[]
  readonly #log: Log
  readonly #reported = new Set<string>()

  constructor(listed: readonly string[], log: Log) {
    this.#listed = listed
    this.#log = log
  }

  add({ roles }: Claims): void {
    for (const role of [roles as unknown].flat()) {
      if (typeof role !== 'string' || this.#listed.includes(role)) continue
      if (this.#reported.has(role) || this.#reported.size >= maxReported) continue
      this.#reported.add(role)
      const remedy = remedyFor(role, this.#listed)
      this.#log.warn(
        { code: 'ROLE_UNKNOWN', role },
        `a token was issued with the role ${JSON.stringify(role)}, which is not in auth.roles. ${remedy}`,
      )
    }
  }
}
