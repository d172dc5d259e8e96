/** Keeps hidden properties out of the JSON of their objects, wherever these end up: answers, events, logs. Source: public face, Records, `hidden`. */
import type { Class } from '../metadata/note.js'

/**
 * Gives a class its JSON form, unless it has one: all own properties but those that `hiddenMembers` names.
 *
 * It stands on the class itself, so that no path out needs to know the class: not a list, not an object around it, not a
 * handler without `returns`. A copy (`{ ...user }`) is no instance any more and holds what was copied.
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
