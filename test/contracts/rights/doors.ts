/** The doors of the rights suite: each asks the same questions in its own words. A new door is one more of these. */
import { openCrud, openCrudAggregates } from './crud-doors.js'
import type { OpenDoor } from './door.js'
import { openGraphql, openMany, openRelay } from './graphql-doors.js'
import { openQuery, openTools } from './mcp-doors.js'

export const openDoors: readonly [string, OpenDoor][] = [
  ['crud', openCrud],
  ['crud, aggregates', openCrudAggregates],
  ['the planner', (app, token) => openGraphql(app, token, '')],
  // Beside a field with a resolver of its own the executor reads all.
  ['the executor', (app, token) => openGraphql(app, token, ' slow')],
  ['pages, aggregates and writes of many', openMany],
  ['global ids', openRelay],
]

/** They go in by the doors above, which are asked on each engine: one is enough for them. */
export const openAgentsDoors: readonly [string, OpenDoor][] = [
  ['agents, by tools of routes', openTools],
  ['agents, by query', openQuery],
]
