/** Keeps hidden properties out of the JSON of their objects, wherever these end up: answers, events, logs. Source: public face, Records, `hidden`. */
import type { Class } from '../metadata/class-metadata.js'

/**
 * Gives a class its JSON form, unless it has one: all own properties but those that `hiddenMembers` names.
 *
 * It is a method of the class, so it works everywhere: in lists, in other objects, in handlers without `returns`. A
 * copy (`{ ...user }`) is not an instance and contains everything.
 */
export function hideFromJson(
  owner: Class,
  hiddenMembers: (type: Class) => ReadonlySet<string>,
): void {
  const prototype = owner.prototype as { toJSON?: unknown }
  if (typeof prototype.toJSON === 'function') return
  Object.defineProperty(prototype, 'toJSON', {
    configurable: true,
    writable: true,
    value: function (this: object): object {
      const hidden = hiddenMembers(this.constructor as Class)
      return Object.fromEntries(Object.entries(this).filter(([name]) => !hidden.has(name)))
    },
  })
}
