// import { Nothing } from './not-run.js' stands in a comment, where it imports nothing
export * from './items.js'
import * as orders from './orders.js'
import {
  // the default one
  default as Ping,
} from './ping.js'

export const otherControllers = [...orders.controllers, Ping]
