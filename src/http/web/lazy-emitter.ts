/**
 * An event emitter for objects to which few listeners are added. The constructor of Node's makes a list of listeners, which
 * its methods also make for the first listener.
 */
import { EventEmitter } from 'node:events'

class Emitter {}
Object.setPrototypeOf(Emitter.prototype, EventEmitter.prototype)

export const LazyEmitter = Emitter as unknown as new () => EventEmitter
