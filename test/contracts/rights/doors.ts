/** The clients of the rights suite: each runs the same operations through another interface. */
import { openCrud, openCrudAggregates } from './crud-doors.js'
import type { OpenDoor } from './door.js'
import { openGraphql, openMany, openRelay } from './graphql-doors.js'
import { openQuery, openTools } from './mcp-doors.js'

export const openDoors: readonly [string, OpenDoor][] = [
  ['crud', openCrud],
  ['crud, aggregates', openCrudAggregates],
  ['the planner', (app, token) => openGraphql(app, token, '')],
  // A selected field with a resolver makes the executor read all fields.
  ['the executor', (app, token) => openGraphql(app, token, ' slow')],
  ['pages, aggregates and writes of many', openMany],
  ['global ids', openRelay],
]

/** They use the interfaces above, so testing them on one engine is enough. */
export const openAgentsDoors: readonly [string, OpenDoor][] = [
  ['agents, by route tools', openTools],
  ['agents, by query', openQuery],
]
