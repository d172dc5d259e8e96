/** The doors of the rights suite: each asks the same questions in its own words. A new door is one more of these. */
import { openCrud, openCrudAggregates } from './crud-doors.js'
import type { OpenDoor } from './door.js'
import { openGraphql, openMany, openRelay } from './graphql-doors.js'
import { openTools } from './mcp-doors.js'

export const openDoors: readonly [string, OpenDoor][] = [
  ['crud', openCrud],
  ['crud, aggregates', openCrudAggregates],
  ['the planner', (app, token) => openGraphql(app, token, '')],
  // Beside a field with a resolver of its own the executor reads all.
  ['the executor', (app, token) => openGraphql(app, token, ' slow')],
  ['pages, aggregates and writes of many', openMany],
  ['global ids', openRelay],
  ['agents, by tools of routes', openTools],
]
